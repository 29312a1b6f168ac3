#include "services/collector/clock_watch.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {

ClockWatch::ClockWatch(const Clock& clock, MonotonicEventClock* time, Counters* counters)
    : clock_(clock), time_(time), counters_(counters) {}

std::optional<int64_t> ClockWatch::Check() {
  int64_t drift_ns = time_->Drift();
  // A single reading may be wrong, for example while the clock is being set.
  if (drift_ns > kMaxDriftNs || drift_ns < -kMaxDriftNs) drift_ns = time_->Drift();
  const bool lasts = step_.Believe(drift_ns, clock_.MonotonicNs());
  if (lasts && (drift_ns > kMaxDriftNs || drift_ns < -ClockStep::kLargeNs)) return drift_ns;
  const bool behind = drift_ns < -kMaxDriftNs;
  if (behind == behind_) return std::nullopt;
  behind_ = behind;
  counters_->clock_behind.store(behind ? 1 : 0, std::memory_order_relaxed);
  if (behind) {
    PITWALL_LOG(
        kWarning, "collector", "the wall clock was set back by ",
        FormatDouble(static_cast<double>(-drift_ns) / 1e9),
        " s; the collector keeps its own time until the clock catches up (a step back of over "
        "an hour starts a new boot if it lasts a minute)");
  } else {
    PITWALL_LOG(kInfo, "collector", "the wall clock has caught up with the collector's time");
  }
  return std::nullopt;
}

void ClockWatch::Restart() {
  time_->Restart();
  behind_ = false;
  counters_->clock_behind.store(0, std::memory_order_relaxed);
}

}  // namespace pitwall::collector
