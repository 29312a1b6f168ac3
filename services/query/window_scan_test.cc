#include "services/query/window_scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "services/model/windows/function_table.h"

namespace pitwall::query {
namespace {

constexpr int64_t kOneSecond = 1'000'000'000;

std::optional<double> Scan(WindowFunction function, const std::vector<double>& values,
                           std::vector<double> arguments = {}) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < values.size(); ++i)
    times.push_back(static_cast<int64_t>(i) * 10 * kOneSecond);
  std::vector<double> scratch;
  SampleWindow window{times, values, -5 * kOneSecond, times.back() + 5 * kOneSecond,
                      times.back() + 5 * kOneSecond};
  return ScanWindow(function, window, arguments, &scratch);
}

// The expected values are the results from Prometheus 3.14 for the same samples.
TEST(WindowScan, MatchesPrometheus) {
  EXPECT_EQ(Scan(WindowFunction::kSum, {1e16, 1, -1e16}), 1);  // compensated summation keeps the 1
  EXPECT_EQ(Scan(WindowFunction::kAvg, {1.5e308, 1.5e308}), 1.5e308);
  EXPECT_EQ(Scan(WindowFunction::kStddev, {2, 4, 4, 4, 5, 5, 7, 9}), 2);
  // Extrapolation stops where the counter would be zero.
  EXPECT_EQ(Scan(WindowFunction::kIncrease, {0, 10, 3, 5}), 17.5);
  EXPECT_EQ(Scan(WindowFunction::kRate, {10, 20, 30, 40}), 1);
  EXPECT_EQ(Scan(WindowFunction::kDelta, {10, 20, 30, 40}), 40);
  EXPECT_EQ(Scan(WindowFunction::kIrate, {10, 20, 5}), 0.5);
  EXPECT_EQ(Scan(WindowFunction::kDeriv, {0, 10, 20, 30}), 1);
  EXPECT_EQ(Scan(WindowFunction::kIntercept, {0, 10, 20, 30}), 35);
  EXPECT_EQ(Scan(WindowFunction::kQuantile, {4, 1, 3, 2}, {0.5}), 2.5);
  EXPECT_EQ(Scan(WindowFunction::kQuantile, {4, 1, 3, 2}, {1}), 4);
  EXPECT_EQ(Scan(WindowFunction::kMad, {1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_EQ(Scan(WindowFunction::kResets, {3, 2, 3, 1}), 2);
  EXPECT_EQ(Scan(WindowFunction::kChanges, {3, 3, NAN, NAN, 1}), 2);
  EXPECT_EQ(Scan(WindowFunction::kTsOfMax, {1, 5, 5, 2}), 20);
  EXPECT_EQ(Scan(WindowFunction::kSmoothing, {1, 2, 3}, {0.5, 0.5}), 3);
}

TEST(WindowScan, EveryPrometheusFunctionHasResult) {
  size_t scanned = 0;
  for (const FunctionRow* row : Functions()) {
    if (!row->window.has_value() || !CanScan(*row->window)) continue;
    ++scanned;
    EXPECT_TRUE(Scan(*row->window, {4, 1, 3, 2}, {0.5, 0.5}).has_value()) << row->name;
  }
  EXPECT_GE(scanned, 25U);
  EXPECT_FALSE(CanScan(WindowFunction::kShare));
  EXPECT_FALSE(CanScan(WindowFunction::kSketchQuantile));
}

TEST(WindowScan, TooFewSamples_ReturnsNoResult) {
  for (const WindowFunction function :
       {WindowFunction::kRate, WindowFunction::kIncrease, WindowFunction::kDelta,
        WindowFunction::kIrate, WindowFunction::kIdelta, WindowFunction::kDeriv,
        WindowFunction::kIntercept, WindowFunction::kSmoothing}) {
    EXPECT_EQ(Scan(function, {1}, {0.5, 0.5}), std::nullopt);
  }
}

TEST(WindowScan, NanSortsBeforeNumbersInQuantiles) {
  EXPECT_TRUE(std::isnan(*Scan(WindowFunction::kQuantile, {NAN, 1, 2}, {0})));
  EXPECT_EQ(Scan(WindowFunction::kQuantile, {NAN, 1, 2}, {1}), 2);
  EXPECT_TRUE(std::isnan(*Scan(WindowFunction::kMad, {NAN, 1, 2})));
  EXPECT_EQ(Scan(WindowFunction::kMax, {NAN, 1, NAN}), 1);
}

TEST(WindowScan, DividesPositionsLikePrometheus) {
  EXPECT_EQ(PositionSeconds(1'700'000'000'123'000'000), 1700000000.123);
  EXPECT_EQ(PositionSeconds(-500'000'000), -0.5);
}

}  // namespace
}  // namespace pitwall::query
