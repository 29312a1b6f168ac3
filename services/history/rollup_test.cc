#include "services/history/rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "services/model/position.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

struct Sample {
  int64_t time_ns = 0;
  double value = 0;
};

std::tuple<int64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t> BitsOf(const RollupRow& row) {
  const auto bits = [](double v) { return std::bit_cast<uint64_t>(v); };
  return {row.start_ns, bits(row.min), bits(row.max), bits(row.sum), bits(row.last), row.count};
}

testing::AssertionResult Same(const std::vector<RollupRow>& a, const std::vector<RollupRow>& b) {
  if (a.size() != b.size()) {
    return testing::AssertionFailure() << a.size() << " rows, not " << b.size();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (BitsOf(a[i]) != BitsOf(b[i])) return testing::AssertionFailure() << "row " << i;
  }
  return testing::AssertionSuccess();
}

std::vector<Sample> RandomSamples(uint64_t seed, size_t count) {
  std::mt19937_64 rng(seed);
  std::vector<Sample> out;
  int64_t time = 1'790'000'000 * kNanosPerSecond + static_cast<int64_t>(rng() % 1'000'000'000);
  for (size_t i = 0; i < count; ++i) {
    // Returns samples about half a second apart, with occasional gaps of up to an hour.
    time += rng() % 200 == 0 ? static_cast<int64_t>(rng() % 3600) * kNanosPerSecond + 1
                             : kNanosPerSecond / 2 + static_cast<int64_t>(rng() % 1'000'000);
    double value = std::normal_distribution<double>(5, 3)(rng);
    if (rng() % 300 == 0) value = std::numeric_limits<double>::quiet_NaN();
    if (rng() % 50 == 0) value = MissingValue();
    out.push_back({time, value});
  }
  return out;
}

std::vector<RollupRow> RowsOf(const std::vector<Sample>& samples, size_t tier) {
  std::vector<int64_t> times;
  std::vector<double> values;
  for (const Sample& s : samples) {
    if (IsMissing(s.value)) continue;
    times.push_back(s.time_ns);
    values.push_back(s.value);
  }
  return RollUp(times, values, tier);
}

// Computes the finest tier sample by sample, and each other tier from the rows of the next finer
// tier.
std::vector<RollupRow> Naive(const std::vector<Sample>& samples, size_t tier) {
  std::vector<RollupRow> parts;
  if (tier == 0) {
    for (const Sample& s : samples) {
      if (!IsMissing(s.value)) parts.push_back({s.time_ns, s.value, s.value, s.value, s.value, 1});
    }
  } else {
    parts = Naive(samples, tier - 1);
  }
  std::vector<RollupRow> out;
  for (RollupRow part : parts) {
    part.start_ns = part.start_ns / kTiers[tier] * kTiers[tier];
    if (out.empty() || out.back().start_ns != part.start_ns) {
      out.push_back(part);
      continue;
    }
    RollupRow& row = out.back();
    row.min = std::isnan(row.min)    ? part.min
              : std::isnan(part.min) ? row.min
                                     : std::min(row.min, part.min);
    row.max = std::isnan(row.max)    ? part.max
              : std::isnan(part.max) ? row.max
                                     : std::max(row.max, part.max);
    row.sum += part.sum;
    row.last = part.last;
    row.count += part.count;
  }
  return out;
}

TEST(RollUp, MatchesNaiveComputation) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto samples = RandomSamples(seed, 5'000);
    for (size_t tier = 0; tier < kTiers.size(); ++tier) {
      EXPECT_TRUE(Same(RowsOf(samples, tier), Naive(samples, tier)))
          << "seed " << seed << " tier " << tier;
    }
  }
}

// Windows store the rows of finer tiers, and queries compute coarser rows from them.
TEST(RollUp, SamplesCutAtRow_GiveSameCoarserRows) {
  const auto samples = RandomSamples(20, 4'000);
  std::mt19937_64 rng(21);
  for (int round = 0; round < 60; ++round) {
    const int64_t cut_ns = FloorTo(samples[rng() % samples.size()].time_ns, kTiers[1]);
    const auto cut = std::find_if(samples.begin(), samples.end(),
                                  [&](const Sample& s) { return s.time_ns >= cut_ns; });
    std::vector<RollupRow> rows = RowsOf({samples.begin(), cut}, 1);
    const std::vector<RollupRow> later = RowsOf({cut, samples.end()}, 1);
    rows.insert(rows.end(), later.begin(), later.end());
    EXPECT_TRUE(Same(rows, RowsOf(samples, 1))) << "cut at " << cut_ns;
    EXPECT_TRUE(Same(Coarser(rows, 2), RowsOf(samples, 2))) << "cut at " << cut_ns;
  }
}

TEST(RollUp, BoundarySampleBelongsToNextRow) {
  const std::vector<RollupRow> rows = RowsOf({{0, 1}, {kTiers[0] - 1, 2}, {kTiers[0], 4}}, 0);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].sum, 3);
  EXPECT_EQ(rows[0].count, 2u);
  EXPECT_EQ(rows[1].start_ns, kTiers[0]);
  EXPECT_EQ(rows[1].count, 1u);
}

}  // namespace
}  // namespace pitwall::history
