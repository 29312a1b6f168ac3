#include "services/base/system/age_clock.h"

namespace pitwall {

std::optional<int64_t> AgeClock::Advance(int64_t wall_ns, int64_t monotonic_ns) {
  const int64_t passed_ns = read_ns_.has_value() ? monotonic_ns - *read_ns_ : 0;
  read_ns_ = monotonic_ns;
  if (accepted_ns_.has_value() && wall_ns - passed_ns <= *accepted_ns_ + kStepNs) {
    held_since_ns_.reset();
    accepted_ns_ = wall_ns;
    return accepted_ns_;
  }
  // Another step restarts the wait.
  const bool further = held_since_ns_.has_value() && wall_ns - passed_ns > held_ns_ + kStepNs;
  if (!held_since_ns_.has_value() || further) held_since_ns_ = monotonic_ns;
  held_ns_ = wall_ns;
  if (monotonic_ns - *held_since_ns_ >= kHoldNs) {
    held_since_ns_.reset();
    accepted_ns_ = wall_ns;
  } else if (accepted_ns_.has_value()) {
    *accepted_ns_ += passed_ns;
  }
  return accepted_ns_;
}

}  // namespace pitwall
