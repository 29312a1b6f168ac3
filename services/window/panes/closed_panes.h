// The panes of a track before the open one, as far back as its windows reach. A track of long
// windows packs the older ones into at most a given number of bytes, beyond which it drops the
// oldest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "services/base/binary.h"
#include "services/model/position.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/pane_archive.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/panes/sample_limits.h"

namespace pitwall::window {

// Not thread-safe.
class ClosedPanes {
 public:
  // packed_limit: bytes of packed panes; 0: no pane is packed.
  explicit ClosedPanes(size_t packed_limit) : packed_limit_(packed_limit) {}

  bool packed() const { return packed_limit_ > 0; }
  // Whether no pane has a sample.
  bool empty() const { return nonempty_ == 0 && archive_.nonempty() == 0; }
  // The index after that of the newest pane.
  int64_t end() const { return end_; }
  // Pane `index` < end(); nullptr where nothing is held. Valid until the next call.
  const Pane* At(int64_t index, const PaneShape& shape);

  // The next pane has this index; those before it are empty. Precondition: empty().
  void SkipTo(int64_t index);
  void Push(Pane pane);
  // Drops what the plan does not keep. Once for each Push.
  void Trim(const PanePlan& plan);
  // Packs the oldest block of panes once it is far enough behind. `readers`: places that windows
  // read side by side.
  void Pack(const PaneShape& shape, const PaneGrid& grid, size_t readers);
  // Whether samples after `position` were dropped for the limit.
  bool DroppedAfter(int64_t position) const { return dropped_until_ > position; }
  void CountSamples(SampleLimits& limits, size_t columns) const {
    limits.Count(panes_, end_, columns);
  }

  // Drops all that the plan lacks.
  void Adapt(const PanePlan& plan, const PanePlan& before);
  void Remap(RowMapper& mapper, const std::vector<uint32_t>& keep);
  void Reset();

  void Save(BinaryWriter& out, const PaneCodec& codec) const;
  void Load(BinaryReader& in, const PaneCodec& codec, int64_t end);
  size_t MemoryBytes() const;

 private:
  void DropOldest(const PaneGrid& grid);
  void LoadPanes(BinaryReader& in, const PaneCodec& codec, size_t panes);

  size_t packed_limit_;
  int64_t end_ = 0;
  std::deque<Pane> panes_;                // those before end_
  size_t nonempty_ = 0;                   // of panes_
  PaneArchive archive_;                   // packed(): the panes before panes_
  int64_t dropped_until_ = kMinPosition;  // end of the newest pane with samples that was dropped
};

}  // namespace pitwall::window
