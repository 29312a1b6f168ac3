// Rollups of one series: aggregates of its samples over intervals of equal length. Each tier is
// computed in order from the rows of the next finer tier. Sums are therefore bit-identical even if
// the stream was interrupted at any point and reread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/clock.h"

namespace pitwall::history {

// Row length by tier, in ns. Each length divides the next one.
inline constexpr std::array<int64_t, 3> kTiers = {10 * kNanosPerSecond, 120 * kNanosPerSecond,
                                                  1800 * kNanosPerSecond};

// Aggregate of the samples in [start_ns, start_ns + length). A row has at least one sample. A NaN
// sample counts, makes `sum` NaN, and is ignored by min and max. If all samples are NaN, every
// value except `count` is NaN.
struct RollupRow {
  int64_t start_ns = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double last = 0;
  uint32_t count = 0;
};

// Merges `later` into `row`. `later` must not start earlier than `row`.
void MergeInto(RollupRow* row, const RollupRow& later);

// All tiers of one series. Not thread-safe. The state consists of one row per tier.
class Rollup {
 public:
  // Rows by tier, in time order.
  using Rows = std::array<std::vector<RollupRow>, kTiers.size()>;

  // Adds a sample. Times are in ns since 1970, non-negative, and strictly increasing. Missing
  // values are ignored. Appends to `done` the rows that this sample completes. Returns false and
  // does nothing if the time is not later than the previous one.
  bool Add(int64_t time_ns, double value, Rows* done);
  // Completes rows that end at or before `time_ns`. The caller guarantees that no earlier sample
  // follows.
  void Close(int64_t time_ns, Rows* done);
  // Returns the incomplete rows.
  std::array<std::optional<RollupRow>, kTiers.size()> Open() const;
  // Returns the earliest time of a sample that may be in an incomplete row, or INT64_MAX if all
  // rows are complete. After a restart, samples are reread starting at that time.
  int64_t open_from_ns() const;

 private:
  // Completes the tier's open row and merges it into the next tier.
  void Finish(size_t tier, Rows* done);

  std::array<std::optional<RollupRow>, kTiers.size()> open_;
  int64_t newest_ns_ = -1;
};

}  // namespace pitwall::history
