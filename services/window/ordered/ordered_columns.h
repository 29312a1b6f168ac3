// The samples of one ordered window, by column: their number, and their order as far as reads need
// it.
//
// Each quantile is tracked by itself (rank_tracker.h). After BeginSorting all samples of each
// column are kept in order instead (SortedColumns). Both give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/value.h"
#include "services/window/functions/order_statistics.h"
#include "services/window/functions/rank_tracker.h"
#include "services/window/ordered/overflowed_columns.h"
#include "services/window/ordered/sorted_columns.h"

namespace pitwall::window {

// Not thread-safe. A column with more than `max_samples` overflows: it has no samples until
// ForgetOverflows.
class OrderedColumns {
 public:
  explicit OrderedColumns(uint32_t max_samples) : max_samples_(max_samples) {}

  size_t size() const { return counts_.size(); }
  uint32_t count(size_t column) const { return counts_[column]; }
  const OverflowedColumns& overflowed() const { return overflowed_; }
  // Never makes them fewer.
  void Resize(size_t columns);
  // Removes all samples; overflows stay.
  void Clear(int64_t cursor);

  void Insert(size_t column, double value);
  void Remove(size_t column, double value);
  // One sample leaves and one comes; either may be missing. For a pass over neighboring columns:
  // loads the samples of one that is soon to come.
  void Exchange(size_t column, double leaving, double entering);
  void Overflow(size_t column);
  // Adds a sample behind the back of the order: Sort next, and trackers that know the column must
  // be clear.
  void Append(size_t column, double value);
  void Sort(size_t column) {
    if (sorting_) sorted_.Sort(column);
  }
  // Returns them, as one flag a column.
  std::vector<uint8_t> ForgetOverflows() { return overflowed_.Clear(); }
  // Column i of the result was column keep[i]. Samples go, overflows stay.
  void Remap(const std::vector<uint32_t>& keep);

  // From here on samples are sorted. Append them all again.
  void BeginSorting();
  bool sorting() const { return sorting_; }
  // Sorted samples of a column; only when sorting.
  std::span<const int64_t> keys(size_t column) const { return sorted_.keys(column); }
  // The tracker of a quantile; only when not sorting. `cursor`: when it is read. May take the place
  // of one that was not read for longest.
  RankTracker& TrackerOf(double phi, int64_t cursor);
  // Drops trackers that were not read for long.
  void ForgetUnread(int64_t cursor);

  // Removes the samples. Fails the reader for overflows of columns beyond `columns`.
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  // Columns between the one that Exchange works on and the one whose samples it loads.
  static constexpr size_t kAhead = 6;

  const uint32_t max_samples_;
  std::vector<uint32_t> counts_;  // samples in the window; 0 for an overflow
  OverflowedColumns overflowed_;
  bool sorting_ = false;
  SortedColumns sorted_;               // empty unless sorting_
  std::vector<RankTracker> trackers_;  // none while sorting_
};

inline void OrderedColumns::Exchange(size_t column, double leaving, double entering) {
  if (sorting_ && column + kAhead < counts_.size()) sorted_.Prefetch(column + kAhead);
  const bool goes = !IsMissing(leaving), comes = !IsMissing(entering);
  if (goes && comes && counts_[column] > 0) {  // as many as before
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
