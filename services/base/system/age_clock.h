// Wall time for deletions by age, unaffected by short jumps of the wall clock.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/clock.h"

namespace pitwall {

// Deletions are irreversible, so this clock accepts a step forward late: wall time that is ahead of
// the monotonic time since the last reading by more than an hour counts after it has lasted for a
// day. A step back counts at once. Not thread-safe.
class AgeClock {
 public:
  static constexpr int64_t kStepNs = 3600 * kNanosPerSecond;
  static constexpr int64_t kHoldNs = 24 * 3600 * kNanosPerSecond;

  // Sets the time that an earlier process accepted. Without one, the first reading is a step.
  void Restore(int64_t accepted_ns) { accepted_ns_ = accepted_ns; }
  // Returns the time for measuring ages, or nothing before a time was accepted.
  std::optional<int64_t> Advance(int64_t wall_ns, int64_t monotonic_ns);

  // Returns true while a step forward is not accepted yet.
  bool suspended() const { return held_since_ns_.has_value(); }

 private:
  std::optional<int64_t> accepted_ns_;
  std::optional<int64_t> read_ns_;        // monotonic, of the last Advance
  std::optional<int64_t> held_since_ns_;  // monotonic
  int64_t held_ns_ = 0;                   // wall time at the last Advance, while a step is pending
};

}  // namespace pitwall
