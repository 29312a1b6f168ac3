// The collector's event-time clock.
#pragma once

#include <atomic>
#include <cstdint>

#include "services/base/clock.h"

namespace pitwall::collector {

// Event time starts at wall time and then follows monotonic time (time-model.md 1.1), so it never
// decreases within a boot. Any thread may read it; only the sampler may start a new boot. The
// caller owns the clock.
class MonotonicEventClock {
 public:
  explicit MonotonicEventClock(const Clock& clock) : clock_(clock) { Restart(); }

  // Returns this boot's time in nanoseconds since 1970.
  int64_t Now() const { return clock_.MonotonicNs() + offset_.load(std::memory_order_relaxed); }
  // Returns how far wall time is ahead of event time. Negative if the wall clock was set back.
  int64_t Drift() const { return clock_.WallNs() - Now(); }
  // Starts a new boot at the current wall time.
  void Restart() {
    offset_.store(clock_.WallNs() - clock_.MonotonicNs(), std::memory_order_relaxed);
  }

 private:
  const Clock& clock_;
  std::atomic<int64_t> offset_{0};
};

// Maximum difference between the wall clock and event time. If the wall clock is further ahead, the
// boot ends; if it is further behind, a warning is logged. Steps of more than an hour in either
// direction end the boot once they have persisted (base/clock_step.h).
inline constexpr int64_t kMaxDriftNs = kNanosPerSecond;

}  // namespace pitwall::collector
