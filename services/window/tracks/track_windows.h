// The windows over the panes of one track: which there are, and their state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/demand.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/ordered/ordered_window.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/tracks/sliding_window.h"

namespace pitwall::window {

// A function of one window.
struct WindowQuery {
  WindowFunction function = WindowFunction::kSum;
  FinishKernel finish = nullptr;  // families with partials
  double phi = 0;                 // quantiles of ordered windows
  ReadContext context;
};

// Not thread-safe. Windows are known by their index. They hold rows of the source's pool.
class TrackWindows {
 public:
  size_t size() const { return windows_.size(); }
  std::optional<size_t> Find(Family family, int64_t panes, int64_t delay) const;
  // Adds a window that is not there yet. `panes` and `delay` as in WindowShape; an ordered window
  // keeps at most `max_samples` by column.
  void Add(Family family, int64_t panes, int64_t delay, uint32_t max_samples);
  // Drops windows whose index is not in `used`; the others keep their order. The partials of the
  // panes may be in another order now: Rebuild next.
  void Retain(const std::vector<bool>& used);

  // What the panes must hold for all windows.
  PanePlan Plan() const;
  // In panes.
  std::vector<int64_t> OrderedLengths() const;
  int64_t delay(size_t window) const { return windows_[window].delay; }
  bool AnyOverflow(size_t window) const;

  // The first pane is `open`.
  void Start(int64_t open);
  // The pane before the open one was closed.
  void Advance(PaneSource& source);
  // From pane `from` on the source holds nothing; `open` is open now.
  void Skip(int64_t from, int64_t open);
  // State from the panes. Which columns overflowed is kept, and what windows without a begin hold.
  void Rebuild(PaneSource& source, int64_t open);
  void RebuildOrdered(PaneSource& source, int64_t open);
  // Column i of the result was column keep[i]. RebuildOrdered next.
  void Remap(RowMapper& mapper, const std::vector<uint32_t>& keep);
  // As new. No window holds a row.
  void Reset();

  // `huge`: some sample was beyond kHuge, so averages may need scaled sums.
  void Read(size_t window, const WindowQuery& query, bool huge, PaneSource& source, double* values,
            uint8_t* present);

  // Windows are functions of the panes but for what those without a begin hold and which columns
  // overflowed. Rebuild after Load.
  void Save(BinaryWriter& out, const PaneCodec& codec) const;
  void Load(BinaryReader& in, const PaneCodec& codec);
  size_t MemoryBytes() const;

 private:
  struct Window {
    Family family;
    int64_t panes;
    int64_t delay;
    uint32_t max_samples;
    // One of the two.
    std::unique_ptr<SlidingWindow> sliding;
    std::unique_ptr<OrderedWindow> ordered;
  };

  std::vector<Window> windows_;
};

}  // namespace pitwall::window
