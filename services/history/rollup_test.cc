#include "services/history/rollup.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

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

Rollup::Rows RowsOf(const std::vector<Sample>& samples) {
  Rollup rollup;
  Rollup::Rows rows;
  for (const Sample& s : samples) EXPECT_TRUE(rollup.Add(s.time_ns, s.value, &rows));
  rollup.Close(INT64_MAX, &rows);
  return rows;
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

TEST(Rollup, MatchesNaiveComputation) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto samples = RandomSamples(seed, 5'000);
    const auto rows = RowsOf(samples);
    for (size_t tier = 0; tier < kTiers.size(); ++tier) {
      EXPECT_TRUE(Same(rows[tier], Naive(samples, tier))) << "seed " << seed << " tier " << tier;
    }
  }
}

// After a restart, the completed rows are known, and samples are reread starting at open_from_ns().
TEST(Rollup, RestartAtAnySampleGivesSameRows) {
  const auto samples = RandomSamples(20, 4'000);
  const auto whole = RowsOf(samples);
  std::mt19937_64 rng(21);
  for (int round = 0; round < 60; ++round) {
    const size_t cut = rng() % samples.size();
    Rollup before;
    Rollup::Rows rows;
    for (size_t i = 0; i < cut; ++i) before.Add(samples[i].time_ns, samples[i].value, &rows);
    const int64_t from = std::min(before.open_from_ns(), samples[cut].time_ns);
    Rollup after;
    Rollup::Rows again;
    for (const Sample& s : samples) {
      if (s.time_ns >= from) after.Add(s.time_ns, s.value, &again);
    }
    after.Close(INT64_MAX, &again);
    for (size_t tier = 0; tier < kTiers.size(); ++tier) {
      for (const RollupRow& row : again[tier]) {
        if (rows[tier].empty() || row.start_ns > rows[tier].back().start_ns)
          rows[tier].push_back(row);
      }
      EXPECT_TRUE(Same(rows[tier], whole[tier])) << "cut at " << cut << ", tier " << tier;
    }
  }
}

TEST(Rollup, OpenRowsEqualRowsAfterClose) {
  const auto samples = RandomSamples(30, 700);
  Rollup rollup;
  Rollup::Rows rows;
  for (const Sample& s : samples) {
    rollup.Add(s.time_ns, s.value, &rows);
    const auto open = rollup.Open();
    Rollup copy = rollup;
    Rollup::Rows closed;
    copy.Close(INT64_MAX, &closed);
    for (size_t tier = 0; tier < kTiers.size(); ++tier) {
      ASSERT_LE(closed[tier].size(), 1u);
      ASSERT_EQ(open[tier].has_value(), closed[tier].size() == 1);
      if (!open[tier].has_value()) continue;
      ASSERT_EQ(BitsOf(*open[tier]), BitsOf(closed[tier][0]));
    }
  }
}

TEST(Rollup, BoundarySampleBelongsToNextRow) {
  Rollup rollup;
  Rollup::Rows rows;
  EXPECT_TRUE(rollup.Add(0, 1, &rows));
  EXPECT_TRUE(rollup.Add(kTiers[0] - 1, 2, &rows));
  EXPECT_TRUE(rows[0].empty());
  EXPECT_TRUE(rollup.Add(kTiers[0], 4, &rows));
  ASSERT_EQ(rows[0].size(), 1u);
  EXPECT_EQ(rows[0][0].sum, 3);
  EXPECT_EQ(rows[0][0].count, 2u);
  rollup.Close(2 * kTiers[0] - 1, &rows);
  EXPECT_EQ(rows[0].size(), 1u);
  rollup.Close(2 * kTiers[0], &rows);
  ASSERT_EQ(rows[0].size(), 2u);
  EXPECT_EQ(rows[0][1].start_ns, kTiers[0]);
  EXPECT_TRUE(rows[1].empty());
}

TEST(Rollup, RejectsNonIncreasingTimes) {
  Rollup rollup;
  Rollup::Rows rows;
  EXPECT_EQ(rollup.open_from_ns(), INT64_MAX);
  EXPECT_TRUE(rollup.Add(5, 1, &rows));
  EXPECT_FALSE(rollup.Add(5, 2, &rows));
  EXPECT_FALSE(rollup.Add(4, 2, &rows));
  EXPECT_FALSE(rollup.Add(-1, 2, &rows));
  EXPECT_EQ(rollup.Open()[0]->count, 1u);
  EXPECT_EQ(rollup.open_from_ns(), 0);
}

}  // namespace
}  // namespace pitwall::history
