// Tests functions over all samples of a window (outlier counts, rank-based slopes and trends,
// histograms) with results computed by hand. window_oracle_test.cc compares them with reference
// implementations.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "services/base/testing/random_seed.h"
#include "services/base/text/strings.h"
#include "services/window/functions/block_quantile.h"
#include "services/window/functions/bucket_counts.h"
#include "services/window/functions/longest_run.h"
#include "services/window/functions/outlier_count.h"
#include "services/window/functions/trend.h"
#include "services/window/testing/oracle.h"

namespace pitwall::window {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

std::optional<double> Outliers(const Values& values, double deviations) {
  double count = -1;
  return CountOutliers(values, deviations, &count) ? std::optional(count) : std::nullopt;
}

TEST(CountOutliers, CountsOnlyValuesAboveLimit) {
  // Nine values of 1 and one value of 11 have a mean of 2 and a standard deviation of 3.
  Values values(9, 1);
  values.push_back(11);
  EXPECT_EQ(Outliers(values, 2.9), 1);
  EXPECT_EQ(Outliers(values, 3), 0);  // the limit is exclusive
  EXPECT_EQ(Outliers(values, 0), 1);
  values[9] = -9;  // only values above the mean count
  EXPECT_EQ(Outliers(values, 1), 0);
  EXPECT_EQ(Outliers({1, 1, 1, 1, 1, 1, 1, 1, 9, 9}, 1.5), 2);
}

TEST(CountOutliers, EqualValuesHaveNoOutliers) {
  for (const double value : {0.1, 1e-300, -7.3e17, 1.7e308})
    EXPECT_EQ(Outliers(Values(1000, value), 0), 0) << value;
  EXPECT_EQ(Outliers({5}, 0), 0);
}

TEST(CountOutliers, HandlesEmptyWindowsAndSpecialValues) {
  EXPECT_EQ(Outliers({}, 1), std::nullopt);
  EXPECT_EQ(Outliers({kNan, kNan}, 1), std::nullopt);
  EXPECT_EQ(Outliers({kNan, 1, 1, 1, kNan, 1, 5}, 1), 1);
  EXPECT_EQ(Outliers({1, 2, kInf}, 1), std::nullopt);
  EXPECT_EQ(Outliers({kInf, kInf}, 1), std::nullopt);
  EXPECT_EQ(Outliers({-1e308, 1e308, 1e308}, 1), std::nullopt);
  for (const double bad : {-0.1, kNan, -kInf}) EXPECT_EQ(Outliers({1, 2, 9}, bad), std::nullopt);
  EXPECT_EQ(Outliers({1, 2, 9}, kInf), std::nullopt);
}

// Returns the slope of `values`, with one sample per second.
std::optional<double> Slope(const Values& values) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < values.size(); ++i)
    positions.push_back(static_cast<int64_t>(i + 1) * 1'000'000'000);
  double slope = 0;
  return TheilSenSlope(positions, values, &slope) ? std::optional(slope) : std::nullopt;
}

std::optional<double> Blocks(const std::vector<double>& values,
                             const std::vector<double>& arguments) {
  double result = 0;
  return BlockQuantile(values, arguments, &result) ? std::optional(result) : std::nullopt;
}

// Four blocks of five samples have the medians 2, 1, 9, and 4.
TEST(BlockQuantile, ReturnsQuantileOfRankedBlock) {
  const std::vector<double> values = {2, 2, 2, 50, 0, 1, 1, 7, 1, 0, 9, 9, 9, 9, 9, 4, 3, 5, 4, 4};
  EXPECT_EQ(Blocks(values, {4, 0.5, 1, 5}), 1);
  EXPECT_EQ(Blocks(values, {4, 0.5, 2, 5}), 2);
  EXPECT_EQ(Blocks(values, {4, 0.5, 4, 5}), 9);
  EXPECT_EQ(Blocks(values, {2, 0.5, 1, 5}), 4) << "the newest two";
  EXPECT_EQ(Blocks(values, {4, 0.5, 1}), 1) << "cut into equal blocks";
  EXPECT_EQ(Blocks(values, {3, 0.5, 1}), 1.5) << "of six: what is left over is the oldest";
  EXPECT_EQ(Blocks(values, {4, 1, 4, 5}), 50);
  EXPECT_EQ(Blocks(values, {20, 0.5, 20, 1}), 50);
}

TEST(BlockQuantile, TooFewSamplesHaveNoResult) {
  const std::vector<double> twenty(20, 3.0);
  EXPECT_EQ(Blocks(twenty, {4, 0.5, 1, 5}), 3);
  EXPECT_EQ(Blocks(twenty, {4, 0.5, 1, 6}), std::nullopt);
  EXPECT_EQ(Blocks(twenty, {5, 0.5, 1}), std::nullopt) << "four a block";
  EXPECT_EQ(Blocks({}, {1, 0.5, 1, 1}), std::nullopt);
  // NaN does not count as a sample.
  std::vector<double> some = twenty;
  some[7] = kNan;
  EXPECT_EQ(Blocks(some, {4, 0.5, 1, 5}), std::nullopt);
  some.insert(some.begin(), 3.0);
  EXPECT_EQ(Blocks(some, {4, 0.5, 1, 5}), 3);
}

TEST(BlockQuantile, HandlesInfinitiesAndInvalidArguments) {
  EXPECT_EQ(Blocks({1, 1, kInf}, {1, 0.5, 1, 3}), 1) << "nothing of what lies beside the median";
  EXPECT_EQ(Blocks({1, kInf, kInf}, {1, 0.5, 1, 3}), kInf);
  EXPECT_EQ(Blocks({-kInf, kInf}, {1, 0.5, 1, 2}), std::nullopt);
  const std::vector<double> values(100, 1.0);
  for (const std::vector<double>& wrong : {std::vector<double>{0, 0.5, 1, 5},
                                           {65, 0.5, 1, 1},
                                           {2.5, 0.5, 1, 5},
                                           {4, 0.5, 5, 5},
                                           {4, 0.5, 0, 5},
                                           {4, 1.5, 1, 5},
                                           {4, kNan, 1, 5},
                                           {kNan, 0.5, 1, 5},
                                           {4, 0.5, 1, 0.5},
                                           {4, 0.5, 1, 5000},
                                           {4, 0.5, kInf, 5}}) {
    EXPECT_EQ(Blocks(values, wrong), std::nullopt) << wrong[0] << " " << wrong[2];
  }
}

TEST(TheilSen, OutliersDoNotChangeSlope) {
  EXPECT_EQ(Slope({1, 3, 5, 7, 9}), 2);
  EXPECT_EQ(Slope({1, 3, 1000, 7, 9, 11, -500, 15}), 2);
  EXPECT_EQ(Slope({5, 5, 5}), 0);
  EXPECT_EQ(Slope({0, 1, 3}), 1.5);     // median of 1, 1.5, and 2
  EXPECT_EQ(Slope({0, 1, 3, 9}), 2.5);  // slopes 1, 1.5, 2, 3, 4, 6: mean of the middle two
}

TEST(TheilSen, SlopeUsesSampleTimes) {
  const std::vector<int64_t> positions{0, 500'000'000, 10'000'000'000};
  const Values values{0, 1, 20};
  double slope = 0;
  ASSERT_TRUE(TheilSenSlope(positions, values, &slope));
  EXPECT_EQ(slope, 2);
}

TEST(TheilSen, HandlesShortWindowsAndSpecialValues) {
  EXPECT_EQ(Slope({}), std::nullopt);
  EXPECT_EQ(Slope({1}), std::nullopt);
  EXPECT_EQ(Slope({kNan, 1, kNan}), std::nullopt);
  EXPECT_EQ(Slope({1, kNan, 5}), 2);
  EXPECT_EQ(Slope({kInf, kInf}), std::nullopt);
  EXPECT_EQ(Slope({1, kInf, 3, 4, 5}), 1);  // slopes to infinity are infinite in both directions
  EXPECT_EQ(Slope({1, kInf}), kInf);
  EXPECT_EQ(Slope({kInf, kInf, 1}), -kInf);
}

// The window has more samples than the function uses. The values form a straight line, except that
// every tenth sample is an outlier.
TEST(TheilSen, LongWindowsUseSubsetOfSamples) {
  for (const size_t n : {kMaxSlopeSamples, kMaxSlopeSamples + 1, 1000UL, 4096UL}) {
    Values values;
    std::vector<OracleSample> samples;
    for (size_t i = 0; i < n; ++i) {
      values.push_back(i % 10 == 3 ? 1e6 : 0.25 * static_cast<double>(i));
      samples.push_back(
          {Position() + Duration::Seconds(static_cast<int64_t>(i + 1)), values.back()});
    }
    EXPECT_EQ(Slope(values), 0.25) << n;
    EXPECT_EQ(Slope(values), OracleTheilSen(samples, kMaxSlopeSamples)) << n;
  }
}

std::optional<double> LongestRunOf(const Values& values) {
  double length = 0;
  return LongestRun(values, &length) ? std::optional(length) : std::nullopt;
}

TEST(LongestRun, ZeroEndsRun) {
  EXPECT_EQ(LongestRunOf({1, 1, 0, 1, 1, 1, 0, 1}), 3);
  EXPECT_EQ(LongestRunOf({0, 5, -5, 0.1}), 3);
  EXPECT_EQ(LongestRunOf({1, 1, 1}), 3);
  EXPECT_EQ(LongestRunOf({0, -0.0}), 0);
  EXPECT_EQ(LongestRunOf({1}), 1);
}

TEST(LongestRun, SkipsNan) {
  EXPECT_EQ(LongestRunOf({}), std::nullopt);
  EXPECT_EQ(LongestRunOf({kNan, kNan}), std::nullopt);
  EXPECT_EQ(LongestRunOf({1, kNan, 1, 0, 1}), 2);
  EXPECT_EQ(LongestRunOf({kInf, -kInf, 0}), 2);
}

std::optional<double> Tau(const Values& values) {
  double tau = 0;
  return KendallTau(values, &tau) ? std::optional(tau) : std::nullopt;
}

TEST(Kendall, TauIsDifferenceOfRisingAndFallingShares) {
  EXPECT_EQ(Tau({1, 2, 3, 4}), 1);
  EXPECT_EQ(Tau({4, 3, 2, 1}), -1);
  EXPECT_EQ(Tau({1, 1000, 1001, 1e9}), 1);  // only ranks count
  EXPECT_EQ(Tau({1, 3, 2}), 1 / 3.0);
  EXPECT_EQ(Tau({5, 5, 5, 5}), 0);  // ties count as neither rising nor falling
  EXPECT_EQ(Tau({1, 1, 2}), 2 / 3.0);
  EXPECT_EQ(Tau({0.0, -0.0}), 0);
}

TEST(Kendall, HandlesShortWindowsAndSpecialValues) {
  EXPECT_EQ(Tau({}), std::nullopt);
  EXPECT_EQ(Tau({1}), std::nullopt);
  EXPECT_EQ(Tau({kNan, 1, kNan}), std::nullopt);
  EXPECT_EQ(Tau({kNan, 1, kNan, 2}), 1);
  EXPECT_EQ(Tau({-kInf, 0, kInf, kInf}), 5 / 6.0);
}

TEST(Kendall, MatchesComparisonOfAllPairs) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(Cat("PITWALL_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    Values values(random() % 70);
    std::vector<OracleSample> samples;
    const uint64_t distinct = 1 + random() % 40;
    for (double& value : values) {
      value = random() % 20 == 0 ? kNan : static_cast<double>(random() % distinct);
      samples.push_back({Position::FromNs(static_cast<int64_t>(samples.size())), value});
    }
    EXPECT_EQ(Tau(values), OracleKendall(samples)) << round;
  }
}

TEST(Buckets, CountValuesUpToBound) {
  const Values bounds{-1, 0, 2.5};
  Values counts(4, 99);
  CountBuckets(Values{-3, -1, 0, 0.1, 2.5, 2.6, 7}, bounds, counts.data());
  EXPECT_EQ(counts, (Values{2, 3, 5, 7}));
  CountBuckets(Values{kNan, kInf, -kInf, -0.0}, bounds, counts.data());
  EXPECT_EQ(counts, (Values{1, 2, 2, 4}));
  CountBuckets(Values{}, bounds, counts.data());
  EXPECT_EQ(counts, (Values{0, 0, 0, 0}));
}

}  // namespace
}  // namespace pitwall::window
