// Filter for wall clock steps, used by clocks that count monotonic time and follow the wall clock.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/clock.h"

namespace pitwall {

// Accepts a step of at most an hour immediately. A larger step is usually an error and is accepted
// after it has lasted for a minute. Not thread-safe.
class ClockStep {
 public:
  static constexpr int64_t kLargeNs = 3600 * kNanosPerSecond;
  static constexpr int64_t kHoldNs = 60 * kNanosPerSecond;

  // Returns true if the step is accepted. `step_ns`: current wall time minus the filtered time.
  // Must be called at every reading: if the step ends or changes, the wait restarts.
  bool Believe(int64_t step_ns, int64_t monotonic_ns) {
    if (step_ns <= kLargeNs && step_ns >= -kLargeNs) {
      since_ns_.reset();
      return true;
    }
    const int64_t change_ns = step_ns - step_ns_;
    if (!since_ns_.has_value() || change_ns > kLargeNs || change_ns < -kLargeNs)
      since_ns_ = monotonic_ns;
    step_ns_ = step_ns;
    if (monotonic_ns - *since_ns_ < kHoldNs) return false;
    since_ns_.reset();
    return true;
  }
  // Returns true while a large step is pending.
  bool held() const { return since_ns_.has_value(); }

 private:
  std::optional<int64_t> since_ns_;  // monotonic time
  int64_t step_ns_ = 0;
};

}  // namespace pitwall
