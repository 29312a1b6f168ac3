// Wall time for deletions by age, which a short jump of the wall clock does not move.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/clock.h"

namespace pitwall {

// A deletion cannot be undone, so this clock is slow to believe a step forward: wall time that is
// ahead of the monotonic time since the last reading by more than an hour counts once it has lasted
// for a day. A step back counts at once. Not thread-safe.
class AgeClock {
 public:
  static constexpr int64_t kStepNs = 3600 * kNanosPerSecond;
  static constexpr int64_t kHoldNs = 24 * 3600 * kNanosPerSecond;

  // The time that an earlier process accepted. Without one, the first reading is a step.
  void Restore(int64_t accepted_ns) { accepted_ns_ = accepted_ns; }
  // The time to measure ages against; nothing while no time has been accepted.
  std::optional<int64_t> Advance(int64_t wall_ns, int64_t monotonic_ns);

  // A step forward is being held back.
  bool suspended() const { return held_since_ns_.has_value(); }

 private:
  std::optional<int64_t> accepted_ns_;
  std::optional<int64_t> read_ns_;        // monotonic, of the last Advance
  std::optional<int64_t> held_since_ns_;  // monotonic
  int64_t held_ns_ = 0;                   // wall time at the last Advance, while held
};

}  // namespace pitwall
