// Rollups of one series: aggregates of its samples over intervals of equal length. Each tier is
// computed in order from the rows of the next finer tier. Sums are therefore bit-identical,
// regardless of the tiers that are stored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

// Returns the rows of a tier for the samples of one series, in order. The last row may be
// incomplete. Times must be non-negative and strictly ascending, and values must not be missing.
std::vector<RollupRow> RollUp(std::span<const int64_t> times, std::span<const double> values,
                              size_t tier);
// Returns all rows of the tier, in order, computed from the rows of the next finer tier.
std::vector<RollupRow> Coarser(const std::vector<RollupRow>& rows, size_t tier);

}  // namespace pitwall::history
