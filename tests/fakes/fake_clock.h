// Clock that moves only when the test advances it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "services/base/clock.h"

namespace pitwall::fakes {

// Clock for tests. Wall and monotonic time are constant until Advance or SetWall is called. A timed
// Wait on one of its wake-ups returns false when Advance reaches the deadline, regardless of real
// time. Wait(0) and an untimed Wait behave as usual. Thread-safe. Wake-ups may outlive the clock.
class FakeClock final : public Clock {
 public:
  // 2026-01-01T00:00:00Z by default.
  explicit FakeClock(int64_t wall_ns = 1'767'225'600 * kNanosPerSecond, int64_t monotonic_ns = 0);
  ~FakeClock() override;

  int64_t WallNs() const override;
  int64_t MonotonicNs() const override;
  std::unique_ptr<Wakeup> NewWakeup() override;

  // Moves both times forward by `ns` (>= 0). Waits that time out along the way end in the order of
  // their deadlines. Waits with equal deadlines end in the order in which they started. When a wait
  // ends, the clock reads that wait's deadline.
  void Advance(int64_t ns);
  // Moves only wall time, forward or backward, like an NTP step.
  void SetWall(int64_t wall_ns);

  // Number of threads that are waiting (timed or not).
  size_t waiters() const;
  // Blocks until at least `count` threads are waiting (timed or not). Detects, without a fixed
  // delay, that a thread is waiting.
  void AwaitWaiters(size_t count) const;
  // Returns the earliest deadline of all timed waits (monotonic ns), or -1 if there are no timed
  // waits.
  int64_t NextDeadline() const;

  struct State;  // shared with the wake-ups

 private:
  std::shared_ptr<State> state_;
};

}  // namespace pitwall::fakes
