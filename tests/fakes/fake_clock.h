// Time that moves only when the test says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "services/base/clock.h"

namespace pitwall::fakes {

// A Clock for tests. Wall and monotonic time stand still until Advance or SetWall. A timed Wait of
// one of its wake-ups returns false when Advance reaches its deadline, never by real time; Wait(0)
// and an untimed Wait behave as for real. Thread-safe. Wake-ups may outlive the clock.
class FakeClock final : public Clock {
 public:
  // 2026-01-01T00:00:00Z by default.
  explicit FakeClock(int64_t wall_ns = 1'767'225'600 * kNanosPerSecond, int64_t monotonic_ns = 0);
  ~FakeClock() override;

  int64_t WallNs() const override;
  int64_t MonotonicNs() const override;
  std::unique_ptr<Wakeup> NewWakeup() override;

  // Moves both times by `ns` (>= 0). Waits that time out on the way end in the order of their
  // deadlines, ties in the order in which they began; while one is fired, the clock is at its
  // deadline.
  void Advance(int64_t ns);
  // Moves wall time alone, forwards or backwards: a step of NTP.
  void SetWall(int64_t wall_ns);

  // How many threads wait now (timed or not).
  size_t waiters() const;
  // Blocks until at least `count` threads wait (timed or not): the way to know that a thread has
  // gone to sleep, without sleeping for luck.
  void AwaitWaiters(size_t count) const;
  // Earliest deadline among the timed waits (monotonic ns), or -1.
  int64_t NextDeadline() const;

  struct State;  // shared with the wake-ups

 private:
  std::shared_ptr<State> state_;
};

}  // namespace pitwall::fakes
