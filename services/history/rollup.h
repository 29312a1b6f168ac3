// Rollups of one series: aggregates of its samples over equal stretches of time. Each tier is
// computed from the rows of the finer tier in order, so that sums are bit-identical wherever the
// stream was split and read again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/clock.h"

namespace pitwall::history {

// Length of a row by tier, in ns; each divides the next.
inline constexpr std::array<int64_t, 3> kTiers = {10 * kNanosPerSecond, 120 * kNanosPerSecond,
                                                  1800 * kNanosPerSecond};

// Aggregate of the samples in [start_ns, start_ns + length), at least one. NaN counts, makes `sum`
// NaN, and is ignored by min and max; if all samples are NaN, all fields but `count` are.
struct RollupRow {
  int64_t start_ns = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double last = 0;
  uint32_t count = 0;
};

// Merges `later` into `row`; `later` must not begin earlier.
void MergeInto(RollupRow* row, const RollupRow& later);

// All tiers of one series. Not thread-safe. The state is one row per tier.
class Rollup {
 public:
  // Rows by tier, in time order.
  using Rows = std::array<std::vector<RollupRow>, kTiers.size()>;

  // Adds a sample. Times are ns since 1970, not negative, and strictly increasing; missing values
  // are ignored. Rows completed by this sample are appended to `done`. Returns false without an
  // effect if the time is not later.
  bool Add(int64_t time_ns, double value, Rows* done);
  // Promises that no sample below `time_ns` follows: completes rows that end at or before it.
  void Close(int64_t time_ns, Rows* done);
  // Incomplete rows, for answers about the present.
  std::array<std::optional<RollupRow>, kTiers.size()> Open() const;
  // Earliest time whose sample may be in an incomplete row; INT64_MAX: none. A start reads the
  // samples from there on again.
  int64_t open_from_ns() const;

 private:
  // Completes the row of the tier and merges it into the next tier.
  void Finish(size_t tier, Rows* done);

  std::array<std::optional<RollupRow>, kTiers.size()> open_;
  int64_t newest_ns_ = -1;
};

}  // namespace pitwall::history
