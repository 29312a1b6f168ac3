// Rollups of one series: what its samples in equal stretches of time come to. Each tier is made of
// the rows of the finer one, in their order, so that sums are the same to the bit wherever the
// stream was cut and read again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/clock.h"

namespace pitwall::history {

// Length of a row in each tier, in ns; each divides the next.
inline constexpr std::array<int64_t, 3> kTiers = {10 * kNanosPerSecond, 120 * kNanosPerSecond,
                                                  1800 * kNanosPerSecond};

// Of the samples at times in [start_ns, start_ns + length). At least one. NaN counts, makes `sum`
// NaN and is neither least nor greatest; where all are NaN, all but `count` are.
struct RollupRow {
  int64_t start_ns = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double last = 0;
  uint32_t count = 0;
};

// The row that holds both; `later` begins no earlier.
void MergeInto(RollupRow* row, const RollupRow& later);

// One series, all tiers. Not thread-safe. Its state is a row for each tier.
class Rollup {
 public:
  // Rows by tier, in order of time.
  using Rows = std::array<std::vector<RollupRow>, kTiers.size()>;

  // Times in ns since 1970, none before it, each later than the one before; missing values are left
  // out. Rows that this sample shows to be over are appended to `done`. Returns false, and does
  // nothing, for a time that is not later.
  bool Add(int64_t time_ns, double value, Rows* done);
  // No sample below `time_ns` follows: rows that end at or before it are over.
  void Close(int64_t time_ns, Rows* done);
  // The rows that are not over: what is known so far, e.g. for an answer now.
  std::array<std::optional<RollupRow>, kTiers.size()> Open() const;
  // The first time of which a sample is in no row that is over. INT64_MAX: all are. A start reads
  // the samples from there on again.
  int64_t open_from_ns() const;

 private:
  // The row of the tier is over: it goes into the next tier.
  void Finish(size_t tier, Rows* done);

  std::array<std::optional<RollupRow>, kTiers.size()> open_;
  int64_t newest_ns_ = -1;
};

}  // namespace pitwall::history
