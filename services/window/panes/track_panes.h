// The panes of one track: the closed panes, and the open pane, which receives new samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"
#include "services/window/panes/closed_panes.h"
#include "services/window/panes/open_pane.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/panes/sample_limits.h"

namespace pitwall::window {

// Not thread-safe. This object must outlive all rows from its pool.
class TrackPanes final : public PaneSource {
 public:
  // `packed_limit` has the same meaning as in ClosedPanes.
  explicit TrackPanes(size_t packed_limit);

  const Pane& At(PaneIndex index) override;
  RowPool& pool() override { return *pool_; }
  size_t columns() const override { return columns_; }

  PaneShape shape() const { return {*pool_, columns_, plan_}; }
  PaneIndex open_index() const { return closed_.end(); }
  // Returns true if no pane has a sample.
  bool empty() const { return open_.empty() && closed_.empty(); }
  // Returns whether any sample exceeded kHuge.
  bool huge() const { return open_.huge(); }
  bool DroppedAfter(Position position) const { return closed_.DroppedAfter(position); }

  // Drops everything that the windows of the new plan do not need. `ordered` contains the lengths
  // of the ordered windows, each limited to `max_samples` per column. A track that packs panes has
  // no ordered windows. If any pane has samples, call CountSamples next.
  void Replan(PanePlan plan, const std::vector<int64_t>& ordered, uint32_t max_samples);
  // Counts the samples that are kept for the ordered windows.
  void CountSamples() { closed_.CountSamples(limits_, columns_); }

  // Adds columns if the pool has capacity for them. If it returns false, call Remap.
  bool AddColumns(size_t columns);
  // Adds samples. See Track::Scatter.
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values, bool huge) {
    if (huge) open_.MarkHuge();
    open_.Scatter(position, cells, columns, values, shape(), limits_);
  }
  // Opens pane `index`. Requires empty().
  void SkipTo(PaneIndex index);
  // Closes the open pane and opens the next. Call Trim after the windows have advanced.
  void Close();
  // Drops and packs panes that the windows no longer need. `readers` is the number of positions
  // that the windows read in parallel.
  void Trim(const PaneGrid& grid, size_t readers) {
    closed_.Trim(plan_);
    closed_.Pack(shape(), grid, readers);
  }

  // Moves all rows to `pool`. `mapper` maps rows to it according to `keep`.
  void Remap(RowMapper& mapper, const std::vector<uint32_t>& keep, std::unique_ptr<RowPool> pool);
  void Reset();
  // Saves everything except the number of columns.
  void Save(BinaryWriter& out) const;
  // There must be no samples, and the plan and the columns must equal the saved plan and columns.
  void Load(BinaryReader& in);
  size_t MemoryBytes() const;

 private:
  std::unique_ptr<RowPool> pool_;  // declared before all members with rows
  size_t columns_ = 0;
  PanePlan plan_;
  SampleLimits limits_;
  ClosedPanes closed_;
  OpenPane open_;
};

}  // namespace pitwall::window
