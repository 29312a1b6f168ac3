#include "tests/fakes/fake_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace pitwall::fakes {
namespace {

TEST(FakeClock, IsConstantUntilAdvanced) {
  FakeClock clock(100, 7);
  EXPECT_EQ(clock.WallNs(), 100);
  EXPECT_EQ(clock.MonotonicNs(), 7);
  clock.Advance(5);
  EXPECT_EQ(clock.WallNs(), 105);
  EXPECT_EQ(clock.MonotonicNs(), 12);
  clock.SetWall(50);
  EXPECT_EQ(clock.WallNs(), 50);
  EXPECT_EQ(clock.MonotonicNs(), 12);
}

TEST(FakeClock, AdvanceEndsWaitAtItsDeadline) {
  FakeClock clock(0);
  const auto wakeup = clock.NewWakeup();
  bool woken = true;
  std::thread sleeper([&] { woken = wakeup->Wait(10); });
  clock.AwaitWaiters(1);
  EXPECT_EQ(clock.NextDeadline(), 10);
  clock.Advance(9);
  EXPECT_EQ(clock.waiters(), 1U);
  clock.Advance(1);
  EXPECT_EQ(clock.waiters(), 0U);
  sleeper.join();
  EXPECT_FALSE(woken);
}

TEST(FakeClock, WakeEndsWaitBeforeDeadline) {
  FakeClock clock(0);
  const auto wakeup = clock.NewWakeup();
  wakeup->Wake();
  EXPECT_TRUE(wakeup->Wait(10));
  EXPECT_FALSE(wakeup->Wait(0));
  bool woken = false;
  std::thread sleeper([&] { woken = wakeup->Wait(-1); });
  clock.AwaitWaiters(1);
  clock.Advance(kNanosPerSecond * 3600);  // an untimed wait does not end
  EXPECT_EQ(clock.waiters(), 1U);
  EXPECT_EQ(clock.NextDeadline(), -1);
  wakeup->Wake();
  sleeper.join();
  EXPECT_TRUE(woken);
}

TEST(FakeClock, WakeupOutlivesTheClock) {
  auto clock = std::make_unique<FakeClock>();
  const auto wakeup = clock->NewWakeup();
  clock.reset();
  wakeup->Wake();
  EXPECT_TRUE(wakeup->Wait(-1));
}

}  // namespace
}  // namespace pitwall::fakes
