// Samples of one ordered window, by column. Stores their number and as much of their order as reads
// need.
//
// Each quantile is tracked separately (rank_tracker.h). After BeginSorting, all samples of each
// column are kept sorted instead (SortedColumns). Both methods give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/value.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/functions/order_statistics.h"
#include "services/window/functions/rank_tracker.h"
#include "services/window/ordered/overflowed_columns.h"
#include "services/window/ordered/sorted_columns.h"

namespace pitwall::window {

// Not thread-safe. A column with more than `max_samples` samples overflows: it has no samples until
// ForgetOverflows is called.
class OrderedColumns {
 public:
  explicit OrderedColumns(uint32_t max_samples) : max_samples_(max_samples) {}

  size_t size() const { return counts_.size(); }
  uint32_t count(size_t column) const { return counts_[column]; }
  const OverflowedColumns& overflowed() const { return overflowed_; }
  // Adds columns. Never reduces their number.
  void Resize(size_t columns);
  // Removes all samples but keeps the overflows.
  void Clear(PaneIndex cursor);

  void Insert(size_t column, double value);
  void Remove(size_t column, double value);
  // Removes one sample and adds another; either may be missing. Intended for passes over adjacent
  // columns: prefetches the samples of a later column.
  void Exchange(size_t column, double leaving, double entering);
  void Overflow(size_t column);
  // Adds a sample without updating the order. Call Sort next. Trackers that contain the column must
  // have been cleared.
  void Append(size_t column, double value);
  void Sort(size_t column) {
    if (sorting_) sorted_.Sort(column);
  }
  // Clears the overflows and returns the columns that had overflowed, as one flag per column.
  std::vector<uint8_t> ForgetOverflows() { return overflowed_.Clear(); }
  // Reorders the columns: column i of the result was column keep[i]. Removes the samples and keeps
  // the overflows.
  void Remap(const std::vector<uint32_t>& keep);

  // Starts keeping the samples sorted. All samples must be appended again.
  void BeginSorting();
  bool sorting() const { return sorting_; }
  // Returns the sorted samples of a column. Only valid while sorting.
  std::span<const int64_t> keys(size_t column) const { return sorted_.keys(column); }
  // Returns the tracker of a quantile. Only valid while not sorting. `cursor` is the window's
  // cursor at the time of the read. A new tracker may replace the least recently read tracker.
  RankTracker& TrackerOf(double phi, PaneIndex cursor);
  // Drops trackers that have not been read for a long time.
  void ForgetUnread(PaneIndex cursor);

  // Loads the overflows and removes the samples. Marks the reader as failed if a column beyond
  // `columns` has overflowed.
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  // Number of columns between the column that Exchange updates and the column that it prefetches.
  static constexpr size_t kAhead = 6;

  const uint32_t max_samples_;
  std::vector<uint32_t> counts_;  // number of samples in the window; 0 after an overflow
  OverflowedColumns overflowed_;
  bool sorting_ = false;
  SortedColumns sorted_;               // empty unless sorting_
  std::vector<RankTracker> trackers_;  // empty while sorting_
};

inline void OrderedColumns::Exchange(size_t column, double leaving, double entering) {
  if (sorting_ && column + kAhead < counts_.size()) sorted_.Prefetch(column + kAhead);
  const bool goes = !IsMissing(leaving), comes = !IsMissing(entering);
  if (goes && comes && counts_[column] > 0) {  // an exchange does not change the number of samples
    const int64_t old_key = KeyOf(leaving), new_key = KeyOf(entering);
    for (RankTracker& tracker : trackers_) {
      tracker.Remove(column, old_key);
      tracker.Insert(column, new_key, counts_[column]);
    }
    if (sorting_) sorted_.Replace(column, old_key, new_key);
    return;
  }
  if (goes) Remove(column, leaving);
  if (comes) Insert(column, entering);
}

}  // namespace pitwall::window
