#include "services/collector/clock_watch.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;

class ClockWatchTest : public ::testing::Test {
 protected:
  void Step(int64_t ns) { clock_.SetWall(clock_.WallNs() + ns); }

  fakes::FakeClock clock_;
  MonotonicEventClock time_{clock_};
  Counters counters_;
  ClockWatch watch_{clock_, &time_, &counters_};
};

TEST_F(ClockWatchTest, SmallStep_RequiresNoBoot) {
  Step(kMaxDriftNs);
  EXPECT_EQ(watch_.Check(), std::nullopt);
  Step(-2 * kMaxDriftNs);
  EXPECT_EQ(watch_.Check(), std::nullopt);
  EXPECT_EQ(counters_.clock_behind.load(), 0);
}

TEST_F(ClockWatchTest, StepForward_RequiresBootUntilRestart) {
  Step(5 * kSecond);
  EXPECT_EQ(watch_.Check(), 5 * kSecond);
  watch_.Restart();
  EXPECT_EQ(watch_.Check(), std::nullopt);
  EXPECT_EQ(time_.Now(), clock_.WallNs());
}

TEST_F(ClockWatchTest, StepBack_IsBehindUntilCaughtUp) {
  Step(-5 * kSecond);
  EXPECT_EQ(watch_.Check(), std::nullopt);
  EXPECT_EQ(counters_.clock_behind.load(), 1);
  Step(5 * kSecond);
  EXPECT_EQ(watch_.Check(), std::nullopt);
  EXPECT_EQ(counters_.clock_behind.load(), 0);
}

TEST_F(ClockWatchTest, LargeStepBack_RequiresBootAfterOneMinute) {
  Step(-2 * ClockStep::kLargeNs);
  EXPECT_EQ(watch_.Check(), std::nullopt);
  clock_.Advance(ClockStep::kHoldNs);
  EXPECT_EQ(watch_.Check(), -2 * ClockStep::kLargeNs);
  watch_.Restart();
  EXPECT_EQ(counters_.clock_behind.load(), 0);
}

}  // namespace
}  // namespace pitwall::collector
