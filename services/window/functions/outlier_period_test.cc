// Tests the outlier period with regular events, with random events, and against the definition of
// the period.
#include "services/window/functions/outlier_period.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "services/window/functions/period_detector.h"
#include "services/window/testing/oracle_period.h"

namespace pitwall::window {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Samples = std::vector<std::pair<double, double>>;  // (seconds, value)

std::optional<double> Period(const Samples& samples, double limit) {
  std::vector<int64_t> positions;
  std::vector<double> values;
  for (const auto& [at, value] : samples) {
    positions.push_back(static_cast<int64_t>(at * 1e9));
    values.push_back(value);
  }
  double period = 0;
  return OutlierPeriod(positions, values, limit, &period) ? std::optional(period) : std::nullopt;
}

void ExpectSamePeriod(std::optional<double> want, std::optional<double> have) {
  ASSERT_EQ(want.has_value(), have.has_value());
  if (!want) return;
  // Close to the limit for rounding to a whole number, the rounding error determines the result.
  const double fraction = std::fabs(std::min(*want, *have) - std::round(*have));
  const bool at_bound = std::fabs(fraction - std::min(0.1, 0.02 * *have)) < 1e-9;
  ASSERT_NEAR(*want, *have, at_bound ? 0.1 + 1e-9 : 1e-9 * *want);
}

// Returns one sample per second with values around 1, and 9 at the given times.
Samples Steps(int n, const std::vector<int>& outliers) {
  Samples out;
  for (int i = 1; i <= n; ++i) out.emplace_back(i, 1 + 0.01 * (i % 3));
  for (const int at : outliers) out[static_cast<size_t>(at - 1)].second = 9;
  return out;
}

std::vector<int> Every(int period, int count, int first = 7) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(first + i * period);
  return out;
}

// Number of events required in a window of 500 samples if all events are on the grid: 10, 12, 9,
// and 7 for the periods 5, 10, 20, and 50. For the period 100 in a window of 700 samples, six
// events are required.
TEST(OutlierPeriod, RegularEventsHavePeriod) {
  struct {
    int n, period, events;
  } const cases[] = {{500, 5, 10}, {500, 10, 12}, {500, 20, 9}, {500, 50, 7}, {700, 100, 6}};
  for (const auto& c : cases) {
    EXPECT_EQ(Period(Steps(c.n, Every(c.period, c.events)), 3), c.period) << c.period;
    EXPECT_EQ(Period(Steps(c.n, Every(c.period, c.events / 2)), 3), std::nullopt) << c.period;
  }
}

TEST(OutlierPeriod, ToleratesMissingUnrelatedAndShiftedEvents) {
  std::vector<int> events = Every(20, 20);
  events[3] += 1;
  events[11] -= 1;
  EXPECT_EQ(Period(Steps(500, events), 3), 20);
  events.erase(events.begin() + 9);
  events.erase(events.begin() + 15);
  EXPECT_EQ(Period(Steps(500, events), 3), 20);
  events.insert(events.begin() + 1, events[0] + 7);
  events.insert(events.begin(), 2);  // the first event is unrelated
  EXPECT_EQ(Period(Steps(500, events), 3), 20);
  // Two of five grid points are empty, so 20 is not the period. In the next case, 8 of the 28
  // events are unrelated.
  std::vector<int> sparse;
  for (int i = 0; i < 24; ++i) {
    if (i % 5 > 1) sparse.push_back(10 + i * 20);
  }
  EXPECT_EQ(Period(Steps(500, sparse), 3), std::nullopt);
  events = Every(20, 20);
  for (int i = 0; i < 8; ++i) events.push_back(13 + i * 47);
  EXPECT_EQ(Period(Steps(500, events), 3), std::nullopt);
}

TEST(OutlierPeriod, AdjacentOutliersFormOneEvent) {
  std::vector<int> events;
  for (const int at : Every(30, 9)) {
    for (int i = 0; i < 3; ++i) events.push_back(at + i);
  }
  EXPECT_EQ(Period(Steps(300, events), 3), 30);
}

TEST(OutlierPeriod, FractionalPeriodIsDetected) {
  std::vector<int> events;
  for (int i = 0; i < 20; ++i) events.push_back(static_cast<int>(std::lround(5 + i * 20.3)));
  const std::optional<double> period = Period(Steps(500, events), 3);
  ASSERT_TRUE(period.has_value());
  EXPECT_NEAR(*period, 20.3, 0.05);
}

TEST(OutlierPeriod, HandlesShortWindowsAndSpecialValues) {
  EXPECT_EQ(Period({}, 3), std::nullopt);
  EXPECT_EQ(Period({{1, 5}}, 3), std::nullopt);
  const Samples good = Steps(300, Every(20, 14));
  EXPECT_EQ(Period(good, 3), 20);
  EXPECT_EQ(Period(good, 0), std::nullopt);
  EXPECT_EQ(Period(good, kNan), std::nullopt);
  EXPECT_EQ(Period(good, 2000), std::nullopt);  // no value is that far from the median
  Samples samples = good;
  for (const size_t at : {4u, 26u, 60u}) samples[at].second = kNan;  // includes the outlier at 27
  EXPECT_EQ(Period(samples, 3), 20);
  samples[46].second = kInf;
  samples[66].second = -kInf;  // outliers may be on either side of the median
  EXPECT_EQ(Period(samples, 3), 20);
  for (auto& [at, value] : samples) value = kInf;
  EXPECT_EQ(Period(samples, 3), std::nullopt);
  // All other values are equal. A value within 1% of the median is not an outlier.
  for (auto& [at, value] : samples) value = std::fmod(at, 20) == 0 ? 100.5 : 100;
  EXPECT_EQ(Period(samples, 3), std::nullopt);
  for (auto& [at, value] : samples) value = std::fmod(at, 20) == 0 ? 104 : 100;
  EXPECT_EQ(Period(samples, 3), 20);
  for (auto& [at, value] : samples) at = 5;  // all samples have the same time
  EXPECT_EQ(Period(samples, 3), std::nullopt);
}

// Random events have no period. The test uses 12,000 windows with 1 to 20 events each, scattered or
// clustered.
TEST(OutlierPeriod, RandomEventsHaveNoPeriod) {
  std::mt19937 random(7);
  int detected = 0;
  for (int round = 0; round < 300; ++round) {
    for (int count = 1; count <= 20; ++count) {
      for (const bool clustered : {false, true}) {
        std::vector<int> events;
        while (static_cast<int>(events.size()) < count) {
          const int at = static_cast<int>(random() % 490) + 1;
          events.push_back(at);
          if (clustered) events.push_back(std::min(500, at + 2 + static_cast<int>(random() % 6)));
        }
        detected += Period(Steps(500, events), 3).has_value() ? 1 : 0;
      }
    }
  }
  EXPECT_LE(detected, 2);
}

TEST(OutlierPeriod, MatchesDefinition) {
  std::mt19937 random(11);
  int detected = 0;
  for (int round = 0; round < 3000; ++round) {
    const int n = 20 + static_cast<int>(random() % 700);
    const double period = 2 + static_cast<double>(random() % 1200) / 10;
    const double spacing = random() % 4 == 0 ? 0.37 : 1;
    Samples samples = Steps(n, {});
    const auto hit = [&](double at) {
      if (at >= 0 && at < n) samples[static_cast<size_t>(at)].second = 5;
    };
    for (double at = static_cast<double>(random() % 20); at < n; at += period) {
      const auto roll = random() % 20;
      if (roll < 2) continue;
      hit(at + (roll == 2 ? 1 : roll == 3 ? -1 : 0));
    }
    for (uint32_t i = 0, foreign = random() % 4; i < foreign; ++i)
      hit(random() % static_cast<uint32_t>(n));
    std::vector<OracleSample> all;
    for (auto& [at, value] : samples) {
      at *= spacing;
      if (random() % 50 == 0) value = kNan;
      all.push_back({Position::FromNs(static_cast<int64_t>(at * 1e9)), value});
    }
    SCOPED_TRACE(round);
    const auto want = OracleOutlierPeriod(all, 4);
    ASSERT_NO_FATAL_FAILURE(ExpectSamePeriod(want, Period(samples, 4)));
    if (want) ++detected;
  }
  EXPECT_GT(detected, 800);
}

// The following tests use the times of events, such as the seconds at which stalls occurred.

std::optional<double> PeriodOfTimes(const std::vector<double>& times, double resolution) {
  double period = 0;
  return EventPeriod(times, resolution, &period) ? std::optional(period) : std::nullopt;
}

// Steps take 0.1 s on average, and each stall is reported at the end of its step.
std::vector<double> Timer(double period, int count, std::mt19937* random) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i)
    out.push_back(1000 + i * period + static_cast<double>((*random)() % 100) / 1000);
  return out;
}

TEST(EventPeriod, PeriodicTimerIsDetected) {
  std::mt19937 random(3);
  for (const double period : {1.0, 7.3, 30.0, 300.0}) {
    std::vector<double> times = Timer(period, 20, &random);
    const auto whole = PeriodOfTimes(times, 0.1);
    ASSERT_TRUE(whole.has_value()) << period;
    EXPECT_NEAR(*whole, period, 0.02) << period;
    times.erase(times.begin() + 7);
    times.erase(times.begin() + 11);
    times.push_back(1000 + 4.4 * period);  // an unrelated event, out of order
    times.push_back(kNan);
    times.push_back(kInf);
    const auto holed = PeriodOfTimes(times, 0.1);
    ASSERT_TRUE(holed.has_value()) << period;
    EXPECT_NEAR(*holed, period, 0.02) << period;
  }
  EXPECT_EQ(PeriodOfTimes(Timer(30, 8, &random), 0.1), 30);
  EXPECT_EQ(PeriodOfTimes(Timer(30, 4, &random), 0.1), std::nullopt);  // too few events
}

TEST(EventPeriod, HandlesInvalidTimesAndResolutions) {
  EXPECT_EQ(PeriodOfTimes({}, 1), std::nullopt);
  EXPECT_EQ(PeriodOfTimes({1, 2}, 1), std::nullopt);
  EXPECT_EQ(PeriodOfTimes(std::vector<double>(50, 7), 1), std::nullopt);
  EXPECT_EQ(PeriodOfTimes({kNan, kInf, kInf, 3, 9}, 1), std::nullopt);
  std::mt19937 random(3);
  const std::vector<double> good = Timer(30, 12, &random);
  for (const double resolution : {0.0, -1.0, kNan, kInf})
    EXPECT_EQ(PeriodOfTimes(good, resolution), std::nullopt);
  EXPECT_EQ(PeriodOfTimes(good, 1e-300), std::nullopt);
  EXPECT_EQ(PeriodOfTimes(good, 1e6), std::nullopt);
  // Only the last hundred times are used.
  std::vector<double> times;
  for (int i = 0; i < 3000; ++i) times.push_back(static_cast<double>(random() % 100000) / 100);
  for (int i = 0; i < 100; ++i) times.push_back(2000 + 30.0 * i);
  EXPECT_EQ(PeriodOfTimes(times, 0.1), 30);
}

TEST(EventPeriod, RandomTimesHaveNoPeriod) {
  std::mt19937 random(17);
  int detected = 0;
  for (int round = 0; round < 300; ++round) {
    for (int count = 3; count <= 40; ++count) {
      std::vector<double> times;
      for (int i = 0; i < count; ++i)
        times.push_back(static_cast<double>(random() % 100000) / 1000);
      detected += PeriodOfTimes(times, 0.2).has_value() ? 1 : 0;
    }
  }
  EXPECT_LE(detected, 2);
}

TEST(EventPeriod, MatchesDefinition) {
  std::mt19937 random(23);
  int detected = 0;
  for (int round = 0; round < 2000; ++round) {
    const double period = 0.5 + static_cast<double>(random() % 1000) / 20;
    const double resolution = 0.05 + static_cast<double>(random() % 100) / 100;
    std::vector<double> times;
    for (uint32_t i = 0, n = 3 + random() % 120; i < n; ++i) {
      if (random() % 10 == 0) continue;
      times.push_back(i * period + resolution * static_cast<double>(random() % 1000) / 1000);
      if (random() % 20 == 0) times.push_back(i * period * static_cast<double>(random() % 7) / 5);
    }
    std::vector<OracleSample> all;
    for (const double at : times) all.push_back({Position(), at});
    SCOPED_TRACE(round);
    const auto want = OracleEventPeriod(all, resolution);
    ASSERT_NO_FATAL_FAILURE(ExpectSamePeriod(want, PeriodOfTimes(times, resolution)));
    if (want) ++detected;
  }
  EXPECT_GT(detected, 500);
}

}  // namespace
}  // namespace pitwall::window
