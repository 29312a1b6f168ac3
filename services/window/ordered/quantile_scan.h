// A pass over the samples of a window for the columns in which a tracker cannot determine a
// quantile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/model/windows/pane_grid.h"
#include "services/window/functions/rank_tracker.h"
#include "services/window/kernels/pane.h"
#include "services/window/ordered/ordered_columns.h"

namespace pitwall::window {

// Not thread-safe. The buffers are reused by later passes.
class QuantileScan {
 public:
  void Clear() { unknown_.clear(); }
  void Add(size_t column) { unknown_.push_back(static_cast<uint32_t>(column)); }
  // Computes the quantile of each added column over the samples of panes first..last, and fills the
  // tracker with these samples. Clears the list of columns.
  void Run(PaneSource& source, PaneIndex first, PaneIndex last, const OrderedColumns& window,
           RankTracker& tracker, double* values);
  size_t MemoryBytes() const { return keys_.capacity() * sizeof(int64_t); }

 private:
  // Number of columns processed at a time. One pass reads all of them from a pane's row.
  static constexpr size_t kAtOnce = 64;

  // Stores the samples of these columns in keys_, one column after another.
  void Gather(PaneSource& source, PaneIndex first, PaneIndex last,
              std::span<const uint32_t> columns, const OrderedColumns& window);

  std::vector<uint32_t> unknown_;
  std::vector<uint32_t> slots_;  // by column: index in Gather's `columns` plus one, or 0 if absent
  std::vector<int64_t> keys_;
};

}  // namespace pitwall::window
