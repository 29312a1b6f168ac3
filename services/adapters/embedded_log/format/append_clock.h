// Source of append times for records (LogAppendTime).
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/base/clock.h"
#include "services/base/system/clock_step.h"

namespace pitwall::log {

// Starts with wall time and advances with monotonic time, like the clocks of the sources that write
// to the log (time-model.md 1.1). If the wall clock is set back, the append time does not follow.
// If it did, every sample from a running source would be rejected as ahead of its record. For the
// same reason, the append time follows a forward step: immediately if the step is at most an hour,
// otherwise once it has lasted for a minute (ClockStep). Not thread-safe; borrows the clock.
class AppendClock {
 public:
  // If the last record of a log is ahead of wall time by more than this, the clock was wrong when
  // the record was written. That difference is not preserved, and append times stay constant until
  // wall time catches up.
  static constexpr int64_t kMaxLeadNs = 3600 * kNanosPerSecond;

  explicit AppendClock(const Clock* clock)
      : clock_(clock), offset_(clock->WallNs() - clock->MonotonicNs()) {}

  int64_t Now() {
    const int64_t monotonic_ns = clock_->MonotonicNs();
    const int64_t step_ns = clock_->WallNs() - monotonic_ns - offset_;
    if (step_.Believe(std::max<int64_t>(step_ns, 0), monotonic_ns) && step_ns > 0)
      offset_ += step_ns;
    return monotonic_ns + offset_;
  }

  // Continues after a record that an earlier process appended at `last_ns`.
  void ContinueAfter(int64_t last_ns) {
    if (last_ns - clock_->WallNs() > kMaxLeadNs) return;
    offset_ = std::max(offset_, last_ns - clock_->MonotonicNs());
  }

  // Returns the append time for a record. Logs when append time starts to differ from wall time and
  // when the two agree again.
  int64_t Stamp();

  // Returns append time minus wall time. The result is positive after the wall clock is set back,
  // negative while a large forward step is pending, and otherwise 0.
  int64_t AheadNs() { return Now() - clock_->WallNs(); }

 private:
  const Clock* const clock_;
  int64_t offset_;
  ClockStep step_;
  bool reported_ahead_ = false;
};

}  // namespace pitwall::log
