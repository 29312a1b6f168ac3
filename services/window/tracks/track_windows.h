// The windows over the panes of one track, including their state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/demand.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/ordered/ordered_window.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/tracks/sliding_window.h"

namespace pitwall::window {

// Query for one function over one window.
struct WindowQuery {
  WindowFunction function = WindowFunction::kSum;
  FinishKernel finish = nullptr;  // for families with partials
  double phi = 0;                 // for quantiles of ordered windows
  ReadContext context;
};

// Not thread-safe. Windows are identified by index. They own rows of the source's pool.
class TrackWindows {
 public:
  size_t size() const { return windows_.size(); }
  std::optional<size_t> Find(Family family, const WindowPanes& panes) const;
  // Adds a new window. An ordered window keeps at most `max_samples` per column.
  void Add(Family family, const WindowPanes& panes, uint32_t max_samples);
  // Drops windows whose index is not in `used`. The other windows keep their order. The order of
  // the panes' partials may change, so Rebuild must be called next.
  void Retain(const std::vector<bool>& used);

  // Returns the content that the panes must provide for all windows.
  PanePlan Plan() const;
  // Returns the window lengths in panes.
  std::vector<int64_t> OrderedLengths() const;
  int64_t delay(size_t window) const { return windows_[window].panes.delay; }
  bool AnyOverflow(size_t window) const;

  // Starts at the first pane, `open`.
  void Start(PaneIndex open);
  // Advances the windows. Call this after the pane before the open pane has been closed.
  void Advance(PaneSource& source);
  // Skips panes. The source is empty starting at pane `from`, and `open` is the index of the open
  // pane.
  void Skip(PaneIndex from, PaneIndex open);
  // Restores the state from the panes. Keeps the set of overflowed columns and the contents of
  // windows without a start.
  void Rebuild(PaneSource& source, PaneIndex open);
  void RebuildOrdered(PaneSource& source, PaneIndex open);
  // Reorders the columns: column i of the result was column keep[i]. RebuildOrdered must be called
  // next.
  void Remap(RowMapper& mapper, const std::vector<uint32_t>& keep);
  // Resets all windows to their initial state, without rows.
  void Reset();

  // `huge` means that some sample exceeded kHuge, so averages may require scaled sums.
  void Read(size_t window, const WindowQuery& query, bool huge, PaneSource& source, double* values,
            uint8_t* present);

  // Saves the state that cannot be rebuilt from the panes: the contents of windows without a start,
  // and the overflowed columns. Call Rebuild after Load.
  void Save(BinaryWriter& out, const PaneCodec& codec) const;
  void Load(BinaryReader& in, const PaneCodec& codec);
  size_t MemoryBytes() const;

 private:
  struct Window {
    Family family;
    WindowPanes panes;
    uint32_t max_samples;
    // Exactly one of the two is set.
    std::unique_ptr<SlidingWindow> sliding;
    std::unique_ptr<OrderedWindow> ordered;
  };

  std::vector<Window> windows_;
};

}  // namespace pitwall::window
