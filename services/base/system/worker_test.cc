#include "services/base/system/worker.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "tests/fakes/fake_clock.h"

namespace pitwall {
namespace {

TEST(Worker, RunsOnANamedThread) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test-worker");
  std::string name;
  worker.Start([&] {
    std::array<char, 16> text{};
    pthread_getname_np(pthread_self(), text.data(), text.size());
    name = text.data();
  });
  worker.Stop();
  EXPECT_EQ(name, "test-worker");
}

TEST(Worker, NamesTheThreadByNumberWithinTheLimit) {
  for (const auto& [number, expected] :
       {std::pair(0, "partition-0"), std::pair(4095, "partition-4095"),
        std::pair(1234567890, "partition-12345")}) {
    Worker worker(nullptr, "partition", number);
    std::string name;
    worker.Start([&] {
      std::array<char, 16> text{};
      pthread_getname_np(pthread_self(), text.data(), text.size());
      name = text.data();
    });
    worker.Stop();
    EXPECT_EQ(name, expected);
  }
}

TEST(Worker, StopEndsAWaitWithoutLimit) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test");
  bool waited = true;
  worker.Start([&] { waited = worker.Wait(-1); });
  clock.AwaitWaiters(1);
  worker.Stop();
  EXPECT_FALSE(waited);
  EXPECT_FALSE(worker.started());
}

TEST(Worker, WakeEndsOneWait) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test");
  std::atomic<int> waits{0};
  worker.Start([&] {
    while (worker.Wait(Duration::Seconds(3600))) ++waits;
  });
  clock.AwaitWaiters(1);
  worker.Wake();
  while (waits == 0) sched_yield();
  clock.AwaitWaiters(1);
  worker.Stop();
  EXPECT_EQ(waits, 1);
}

TEST(Worker, WaitEndsAtItsTimeout) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test");
  std::atomic<int> waits{0};
  worker.Start([&] {
    while (worker.Wait(Duration::Seconds(2))) ++waits;
  });
  clock.AwaitWaiters(1);
  clock.Advance(2 * kNanosPerSecond);
  while (waits == 0) sched_yield();
  worker.Stop();
  EXPECT_EQ(waits, 1);
}

TEST(Worker, ReturnsFromWaitAtOnceAfterTheStopRequest) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test");
  int waits = 0;
  worker.Start([&] {
    while (worker.Wait(-1)) ++waits;
    while (worker.Wait(-1)) ++waits;  // must not block again
  });
  worker.Stop();
  EXPECT_EQ(waits, 0);
}

TEST(Worker, InterruptsABlockingCall) {
  fakes::FakeClock clock;
  const auto blocked = clock.NewWakeup();
  Worker worker(&clock, "test");
  worker.OnStop([&] { blocked->Wake(); });
  worker.Start([&] {
    while (!worker.stopping()) blocked->Wait(-1);
  });
  worker.Stop();
}

TEST(Worker, StopWithoutStartHasNoEffect) {
  Worker worker(nullptr, "test");
  worker.Stop();
  worker.Stop();
  EXPECT_FALSE(worker.started());
}

TEST(Worker, StartsAgainAfterStop) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test");
  int runs = 0;
  const auto run = [&] {
    ++runs;
    worker.Wait(-1);
  };
  worker.Start(run);
  worker.Start(run);  // no effect, because the worker is running
  worker.Stop();
  EXPECT_EQ(runs, 1);
  worker.Start(run);
  EXPECT_FALSE(worker.stopping());
  clock.AwaitWaiters(1);
  worker.Stop();
  EXPECT_EQ(runs, 2);
}

TEST(Worker, StopDoesNotEndTheFirstWaitOfTheNextStart) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test");
  worker.Start([] {});
  worker.Stop();
  std::atomic<bool> waited{false};
  bool woken = true;
  worker.Start([&] {
    woken = worker.wakeup()->Wait(0);
    waited = true;
  });
  while (!waited) sched_yield();
  worker.Stop();
  EXPECT_FALSE(woken);
}

TEST(Worker, KeepsTheLastHealth) {
  Worker worker(nullptr, "test");
  EXPECT_TRUE(worker.Health().ok());
  worker.SetHealth(Unavailable("the broker is down"));
  EXPECT_EQ(worker.Health().message(), "the broker is down");
  worker.SetHealth(OkStatus());
  EXPECT_TRUE(worker.Health().ok());
}

TEST(WorkerDeathTest, RejectsANameThatLinuxWouldTruncate) {
  EXPECT_DEATH(Worker(nullptr, "a-name-that-is-too-long"), "check failed");
}

}  // namespace
}  // namespace pitwall
