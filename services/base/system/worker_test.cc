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

std::string NameOfThread(Worker* worker) {
  std::array<char, 16> name{};
  worker->Start([&name] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  worker->Stop();
  return name.data();
}

TEST(Worker, RunsOnANamedThread) {
  fakes::FakeClock clock;
  Worker worker(&clock, "test-worker");
  EXPECT_EQ(NameOfThread(&worker), "test-worker");
}

TEST(Worker, NamesTheThreadByNumberWithinTheLimit) {
  for (const auto& [number, expected] :
       {std::pair(0, "partition-0"), std::pair(4095, "partition-4095"),
        std::pair(1234567890, "partition-12345")}) {
    Worker worker(nullptr, "partition", number);
    EXPECT_EQ(NameOfThread(&worker), expected);
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

// Worker that waits again and again, and counts the waits that have ended. It is waiting when the
// constructor returns.
struct CountingWorker {
  explicit CountingWorker(Duration timeout) {
    worker.Start([this, timeout] {
      while (worker.Wait(timeout)) ++waits;
    });
    clock.AwaitWaiters(1);
  }
  void AwaitFirstEnd() const {
    while (waits == 0) sched_yield();
  }
  fakes::FakeClock clock;
  std::atomic<int> waits{0};
  Worker worker{&clock, "test"};
};

TEST(Worker, WakeEndsOneWait) {
  CountingWorker counting(Duration::Seconds(3600));
  counting.worker.Wake();
  counting.AwaitFirstEnd();
  counting.clock.AwaitWaiters(1);
  counting.worker.Stop();
  EXPECT_EQ(counting.waits, 1);
}

TEST(Worker, WaitEndsAtItsTimeout) {
  CountingWorker counting(Duration::Seconds(2));
  counting.clock.Advance(2 * kNanosPerSecond);
  counting.AwaitFirstEnd();
  counting.worker.Stop();
  EXPECT_EQ(counting.waits, 1);
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
