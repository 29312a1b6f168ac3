// The panes of a track before the open pane, as far back as its windows need them. For long
// windows, older panes are packed into at most a given number of bytes. Above this limit, the
// oldest panes are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "services/base/binary.h"
#include "services/base/time.h"
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
  // `packed_limit` is the maximum size of packed panes in bytes; 0 disables packing.
  explicit ClosedPanes(size_t packed_limit) : packed_limit_(packed_limit) {}

  bool packed() const { return packed_limit_ > 0; }
  // Returns true if no pane has a sample.
  bool empty() const { return nonempty_ == 0 && archive_.nonempty() == 0; }
  // Returns the index after the newest pane.
  PaneIndex end() const { return end_; }
  // Returns the pane at `index` < end(), or nullptr if it is not stored. Valid until the next call.
  const Pane* At(PaneIndex index, const PaneShape& shape);

  // Sets the index of the next pane; all panes before it are empty. Requires empty().
  void SkipTo(PaneIndex index);
  void Push(Pane pane);
  // Drops panes and parts that the plan does not need. Call this once after each Push.
  void Trim(const PanePlan& plan);
  // Packs the oldest block of panes once it is old enough. `readers` is the number of positions
  // that windows read in parallel.
  void Pack(const PaneShape& shape, const PaneGrid& grid, size_t readers);
  // Returns whether samples after `position` were dropped because of `packed_limit`.
  bool DroppedAfter(Position position) const { return dropped_until_ > position; }
  void CountSamples(SampleLimits& limits, size_t columns) const {
    limits.Count(panes_, end_, columns);
  }

  // Drops everything that the new plan does not need.
  void Adapt(const PanePlan& plan, const PanePlan& before);
  void Remap(RowMapper& mapper, const std::vector<uint32_t>& keep);
  void Reset();

  void Save(BinaryWriter& out, const PaneCodec& codec) const;
  void Load(BinaryReader& in, const PaneCodec& codec, PaneIndex end);
  size_t MemoryBytes() const;

 private:
  void DropOldest(const PaneGrid& grid);
  void LoadPanes(BinaryReader& in, const PaneCodec& codec, size_t panes);

  size_t packed_limit_;
  PaneIndex end_;
  std::deque<Pane> panes_;                         // the panes before end_
  size_t nonempty_ = 0;                            // number of panes_ with samples
  PaneArchive archive_;                            // the panes before panes_, if packed()
  Position dropped_until_ = Position::Earliest();  // end of the newest dropped pane with samples
};

}  // namespace pitwall::window
