#include "services/adapters/clock/system_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace pitwall::clock {
namespace {

TEST(SystemClock, WallTimeIsPlausible) {
  EXPECT_GT(SystemClock().WallNs(), 1'700'000'000 * kNanosPerSecond);
}

TEST(SystemClock, MonotonicTimeNeverDecreases) {
  SystemClock clock;
  int64_t last = clock.MonotonicNs();
  for (int i = 0; i < 10'000; ++i) {
    const int64_t now = clock.MonotonicNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, WaitDoesNotTimeOutEarly) {
  SystemClock clock;
  const auto wakeup = clock.NewWakeup();
  const int64_t begin = clock.MonotonicNs();
  EXPECT_FALSE(wakeup->Wait(5 * kNanosPerMilli));
  EXPECT_GE(clock.MonotonicNs() - begin, 5 * kNanosPerMilli);
  EXPECT_FALSE(wakeup->Wait(0));
}

TEST(SystemClock, WakeBeforeWait_EndsExactlyOneWait) {
  SystemClock clock;
  const auto wakeup = clock.NewWakeup();
  wakeup->Wake();
  wakeup->Wake();
  EXPECT_TRUE(wakeup->Wait(0));
  EXPECT_FALSE(wakeup->Wait(0));
  wakeup->Wake();
  EXPECT_TRUE(wakeup->Wait(-1));
}

TEST(SystemClock, HugeTimeoutDoesNotOverflow) {
  SystemClock clock;
  const auto wakeup = clock.NewWakeup();
  std::thread waker([&] { wakeup->Wake(); });
  EXPECT_TRUE(wakeup->Wait(INT64_MAX));
  waker.join();
}

// Each handover is a data race unless Wake happens before the end of Wait. The TSan build detects
// such a race.
TEST(SystemClock, WakeSynchronizesMemoryBetweenThreads) {
  SystemClock clock;
  const auto ping = clock.NewWakeup();
  const auto pong = clock.NewWakeup();
  int64_t shared = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(ping->Wait(60 * kNanosPerSecond));
      ++shared;
      pong->Wake();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    ++shared;
    ping->Wake();
    ASSERT_TRUE(pong->Wait(60 * kNanosPerSecond));
  }
  other.join();
  EXPECT_EQ(shared, 2000);
}

}  // namespace
}  // namespace pitwall::clock
