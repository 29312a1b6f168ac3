// Wall time for age-based deletion, unaffected by short jumps of the wall clock.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/clock.h"

namespace pitwall {

// Wall time for age-based deletion. Deletions are irreversible, so a large forward step is accepted
// with a delay: if wall time is more than an hour ahead of the monotonic time since the last
// reading, the step is accepted only after the difference has lasted for a day. A backward step is
// accepted immediately. Not thread-safe.
class AgeClock {
 public:
  static constexpr int64_t kStepNs = 3600 * kNanosPerSecond;
  static constexpr int64_t kHoldNs = 24 * 3600 * kNanosPerSecond;

  // Sets the time accepted by an earlier process. Without it, the first reading counts as a step.
  void Restore(int64_t accepted_ns) { accepted_ns_ = accepted_ns; }
  // Returns the time for measuring ages, or nothing if no time has been accepted yet.
  std::optional<int64_t> Advance(int64_t wall_ns, int64_t monotonic_ns);

  // Returns true while a forward step is pending.
  bool suspended() const { return held_since_ns_.has_value(); }

 private:
  std::optional<int64_t> accepted_ns_;
  std::optional<int64_t> read_ns_;        // monotonic time of the last Advance
  std::optional<int64_t> held_since_ns_;  // monotonic time
  int64_t held_ns_ = 0;                   // wall time of the last Advance while a step is pending
};

}  // namespace pitwall
