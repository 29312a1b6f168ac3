// Comparison of the wall clock with the collector's event time.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/clock.h"
#include "services/base/system/clock_step.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/readers/monotonic_event_clock.h"

namespace pitwall::collector {

// Detector for wall clock steps. If the clock is set back, event time does not follow it, because
// rows with equal times could not be distinguished. The watch reports this condition
// (pitwall_collector_clock_behind). Owned by the sampler's thread.
class ClockWatch {
 public:
  // The caller owns all arguments.
  ClockWatch(const Clock& clock, MonotonicEventClock* time, Counters* counters);

  // Returns the size of the wall clock step in nanoseconds if the step must be treated as a new
  // boot of the node, or nullopt otherwise. Logs when the wall clock falls behind and when it
  // catches up. Must be called once per tick.
  std::optional<int64_t> Check();
  // Starts a new boot, whose event time begins at the current wall time.
  void Restart();

 private:
  const Clock& clock_;
  MonotonicEventClock* const time_;
  Counters* const counters_;
  bool behind_ = false;  // whether the wall clock was set back
  ClockStep step_;
};

}  // namespace pitwall::collector
