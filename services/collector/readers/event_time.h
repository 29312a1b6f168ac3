// The collector's own event time.
#pragma once

#include <atomic>
#include <cstdint>

#include "services/base/clock.h"

namespace pitwall::collector {

// Wall time once, then monotonic time (time-model.md 1.1), so that it never goes back within a
// boot. Any thread may read; only the sampler begins a new boot. The clock is borrowed.
class EventTime {
 public:
  explicit EventTime(const Clock& clock) : clock_(clock) { Restart(); }

  // Nanoseconds since 1970 as this boot sees them.
  int64_t Now() const { return clock_.MonotonicNs() + offset_.load(std::memory_order_relaxed); }
  // How far wall time is ahead of ours; below 0 when somebody set it back.
  int64_t Drift() const { return clock_.WallNs() - Now(); }
  // A new boot: takes wall time again.
  void Restart() {
    offset_.store(clock_.WallNs() - clock_.MonotonicNs(), std::memory_order_relaxed);
  }

 private:
  const Clock& clock_;
  std::atomic<int64_t> offset_{0};
};

// A wall clock that is ahead by more ends the boot, one that is behind by more is flagged. Steps of
// more than an hour, forward or back, end the boot once they have lasted (base/clock_step.h).
inline constexpr int64_t kMaxDriftNs = kNanosPerSecond;

}  // namespace pitwall::collector
