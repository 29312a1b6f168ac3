#include "services/base/system/age_clock.h"

#include <gtest/gtest.h>

#include "services/base/system/clock_step.h"

namespace pitwall {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kHour = 3600 * kSecond;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kStart = 20'000 * kDay;

class AgeClockTest : public ::testing::Test {
 protected:
  AgeClockTest() { clock_.Restore(kStart); }
  // Advances the clock while the wall clock is `ahead_ns` ahead of the true time. Returns the
  // difference between the accepted time and the true time.
  int64_t Pass(int64_t ahead_ns, int64_t after_ns = 10 * kSecond) {
    monotonic_ns_ += after_ns;
    const auto accepted = clock_.Advance(kStart + monotonic_ns_ + ahead_ns, monotonic_ns_);
    EXPECT_TRUE(accepted.has_value());
    return accepted.value_or(0) - kStart - monotonic_ns_;
  }

  AgeClock clock_;
  int64_t monotonic_ns_ = 0;
};

TEST_F(AgeClockTest, SteadyClock_IsFollowed) {
  EXPECT_EQ(Pass(0), 0);
  EXPECT_EQ(Pass(0, 40 * kDay), 0);  // the process was suspended
  EXPECT_FALSE(clock_.suspended());
}

TEST_F(AgeClockTest, JumpOf45DaysFor25Seconds_IsNotFollowed) {
  Pass(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Pass(45 * kDay), 0);
    EXPECT_TRUE(clock_.suspended());
  }
  EXPECT_EQ(Pass(0), 0);
  EXPECT_FALSE(clock_.suspended());
}

TEST_F(AgeClockTest, StepLastingADay_IsFollowed) {
  Pass(0);
  for (int hour = 0; hour < 24; ++hour) EXPECT_EQ(Pass(45 * kDay, kHour), 0);
  EXPECT_EQ(Pass(45 * kDay, kHour), 45 * kDay);
  EXPECT_FALSE(clock_.suspended());
}

TEST_F(AgeClockTest, FurtherStep_RestartsWait) {
  Pass(0);
  for (int hour = 0; hour < 20; ++hour) Pass(45 * kDay, kHour);
  for (int hour = 0; hour < 20; ++hour) EXPECT_EQ(Pass(90 * kDay, kHour), 0);
}

TEST_F(AgeClockTest, StepBack_IsFollowedImmediately) {
  Pass(0);
  EXPECT_EQ(Pass(-45 * kDay), -45 * kDay);
}

TEST_F(AgeClockTest, StepBelowAnHour_IsFollowedImmediately) {
  Pass(0);
  EXPECT_EQ(Pass(kHour - kSecond), kHour - kSecond);
}

TEST_F(AgeClockTest, NoEarlierTime_ReturnsNothingForADay) {
  AgeClock clock;
  EXPECT_FALSE(clock.Advance(kStart, 0).has_value());
  EXPECT_FALSE(clock.Advance(kStart + 23 * kHour, 23 * kHour).has_value());
  EXPECT_EQ(clock.Advance(kStart + kDay, kDay), kStart + kDay);
}

TEST(ClockStepTest, StepOfAnHour_IsAcceptedImmediately) {
  ClockStep step;
  EXPECT_TRUE(step.Believe(kHour, 0));
  EXPECT_TRUE(step.Believe(-kHour, 0));
  EXPECT_FALSE(step.held());
}

TEST(ClockStepTest, LargerStep_IsAcceptedAfterAMinute) {
  for (const int64_t by : {45 * kDay, -45 * kDay}) {
    ClockStep step;
    EXPECT_FALSE(step.Believe(by, 0));
    EXPECT_TRUE(step.held());
    EXPECT_FALSE(step.Believe(by, 59 * kSecond));
    EXPECT_TRUE(step.Believe(by, 60 * kSecond));
  }
}

TEST(ClockStepTest, StepEndsOrChanges_WaitRestarts) {
  ClockStep step;
  EXPECT_FALSE(step.Believe(45 * kDay, 0));
  EXPECT_TRUE(step.Believe(0, 25 * kSecond));
  EXPECT_FALSE(step.Believe(45 * kDay, 50 * kSecond));
  EXPECT_FALSE(step.Believe(45 * kDay, 100 * kSecond));
  EXPECT_FALSE(step.Believe(90 * kDay, 110 * kSecond));
  EXPECT_TRUE(step.Believe(90 * kDay, 170 * kSecond));
}

}  // namespace
}  // namespace pitwall
