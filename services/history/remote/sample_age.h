// Age limit for samples to send, measured in the wall time that AgeClock accepts (time-model.md
// 2.9).
#pragma once

#include <cstdint>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/age_clock.h"

namespace pitwall::history {

// Age limit for one partition. Thread-safe. Does not own the clock.
class SampleAge {
 public:
  SampleAge(Clock* clock, int64_t limit_ns) : clock_(clock), limit_ns_(limit_ns) {
    MutexLock lock(&mutex_);
    age_clock_.Restore(clock_->WallNs());
  }

  // Returns the wall time before which samples are too old to be sent.
  int64_t OldestNs() const { return NowNs() - limit_ns_; }
  // Returns true if samples at `time_ns` are too old to be sent.
  bool Expired(int64_t time_ns) const { return NowNs() - time_ns > limit_ns_; }

 private:
  // Returns the wall time that is used to drop old samples.
  int64_t NowNs() const {
    MutexLock lock(&mutex_);
    return *age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());
  }

  Clock* const clock_;
  const int64_t limit_ns_;
  mutable Mutex mutex_;
  mutable AgeClock age_clock_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
