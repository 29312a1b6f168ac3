// The time that appended records get (LogAppendTime).
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/base/clock.h"
#include "services/base/system/clock_step.h"

namespace pitwall::log {

// Wall time once, then monotonic time, as its sources' own (time-model.md 1.1): a wall clock that
// is set back is not followed, or every sample of a source that goes on would be refused as ahead
// of its record. One that goes forward is followed, for the same reason: at once by up to an hour,
// else once it has lasted for a minute (ClockStep). Not thread-safe; borrows the clock.
class AppendClock {
 public:
  // A log whose last record is further ahead of wall time than this was written with a wrong clock:
  // that is not carried on. Its records then stand still until wall time has passed the last one.
  static constexpr int64_t kMostCarriedNs = 3600 * kNanosPerSecond;

  explicit AppendClock(const Clock* clock)
      : clock_(clock), offset_(clock->WallNs() - clock->MonotonicNs()) {}

  int64_t Now() {
    const int64_t monotonic_ns = clock_->MonotonicNs();
    const int64_t step_ns = clock_->WallNs() - monotonic_ns - offset_;
    if (step_.Believe(std::max<int64_t>(step_ns, 0), monotonic_ns) && step_ns > 0)
      offset_ += step_ns;
    return monotonic_ns + offset_;
  }

  // The log has a record of that time, of an earlier process: goes on behind it.
  void GoOnAfter(int64_t last_ns) {
    if (last_ns - clock_->WallNs() > kMostCarriedNs) return;
    offset_ = std::max(offset_, last_ns - clock_->MonotonicNs());
  }

  // Now, for a record; says so when it parts from wall time, and when they meet.
  int64_t Stamp();

  // How far it is ahead of wall time: above 0 after a wall clock was set back, below 0 while a
  // large step forward is waited for, else 0.
  int64_t AheadNs() { return Now() - clock_->WallNs(); }

 private:
  const Clock* const clock_;
  int64_t offset_;
  ClockStep step_;
  bool told_ahead_ = false;
};

}  // namespace pitwall::log
