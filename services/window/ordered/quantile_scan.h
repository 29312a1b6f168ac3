// A pass over the samples of a window, for the columns whose tracker does not know a quantile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/window/functions/rank_tracker.h"
#include "services/window/kernels/pane.h"
#include "services/window/ordered/ordered_columns.h"

namespace pitwall::window {

// Not thread-safe. Keeps its memory from pass to pass.
class QuantileScan {
 public:
  void Clear() { unknown_.clear(); }
  void Add(size_t column) { unknown_.push_back(static_cast<uint32_t>(column)); }
  // Writes the quantile of each column that was added, of the samples of panes first..last, and
  // fills the tracker with them. Clears the columns.
  void Run(PaneSource& source, int64_t first, int64_t last, const OrderedColumns& window,
           RankTracker& tracker, double* values);
  size_t MemoryBytes() const { return keys_.capacity() * sizeof(int64_t); }

 private:
  // Columns at a time, so that a pane's row gives them all while it is at hand.
  static constexpr size_t kAtOnce = 64;

  // Puts the samples of these columns into keys_, one column after another.
  void Gather(PaneSource& source, int64_t first, int64_t last, std::span<const uint32_t> columns,
              const OrderedColumns& window);

  std::vector<uint32_t> unknown_;
  std::vector<uint32_t> slots_;  // by column: its place in Gather's `columns` plus one, or 0
  std::vector<int64_t> keys_;
};

}  // namespace pitwall::window
