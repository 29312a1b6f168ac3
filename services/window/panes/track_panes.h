// The panes of one track: those that are closed, and the open one, which receives the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "services/base/binary.h"
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

// Not thread-safe. Outlives all rows that come from its pool.
class TrackPanes final : public PaneSource {
 public:
  // packed_limit: as in ClosedPanes.
  explicit TrackPanes(size_t packed_limit);

  const Pane& At(int64_t index) override;
  RowPool& pool() override { return *pool_; }
  size_t columns() const override { return columns_; }

  PaneShape shape() const { return {*pool_, columns_, plan_}; }
  int64_t open_index() const { return closed_.end(); }
  // Whether no pane has a sample.
  bool empty() const { return open_.empty() && closed_.empty(); }
  // Whether some sample was beyond kHuge.
  bool huge() const { return open_.huge(); }
  bool DroppedAfter(int64_t position) const { return closed_.DroppedAfter(position); }

  // Drops all that the windows of the new plan do not need. `ordered`: lengths of the ordered
  // windows, each with at most `max_samples` by column; a track that packs panes has none of them.
  // CountSamples next if some pane has samples.
  void Replan(PanePlan plan, const std::vector<int64_t>& ordered, uint32_t max_samples);
  // Counts the samples that the ordered windows keep.
  void CountSamples() { closed_.CountSamples(limits_, columns_); }

  // Adds columns if the pool has room for them; otherwise Remap.
  bool AddColumns(size_t columns);
  // As Track::Scatter.
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values, bool huge) {
    if (huge) open_.MarkHuge();
    open_.Scatter(position, cells, columns, values, shape(), limits_);
  }
  // Opens pane `index`. Precondition: empty().
  void SkipTo(int64_t index);
  // Closes the open pane and opens the next. Trim once the windows have moved on.
  void Close();
  // Drops and packs what is behind the reach of the windows, which read `readers` places.
  void Trim(const PaneGrid& grid, size_t readers) {
    closed_.Trim(plan_);
    closed_.Pack(shape(), grid, readers);
  }

  // Moves all rows to `pool`; `mapper` maps to it by `keep`.
  void Remap(RowMapper& mapper, const std::vector<uint32_t>& keep, std::unique_ptr<RowPool> pool);
  void Reset();
  // All but the number of columns.
  void Save(BinaryWriter& out) const;
  // Precondition: without samples, with the plan and the columns that were saved.
  void Load(BinaryReader& in);
  size_t MemoryBytes() const;

 private:
  std::unique_ptr<RowPool> pool_;  // before all that has rows
  size_t columns_ = 0;
  PanePlan plan_;
  SampleLimits limits_;
  ClosedPanes closed_;
  OpenPane open_;
};

}  // namespace pitwall::window
