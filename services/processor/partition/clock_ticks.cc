#include "services/processor/partition/clock_ticks.h"

#include <algorithm>

namespace pitwall::processor {

// If this owner restarts after a failure, other clients have probably lost their connection to the
// log too (time-model.md 2.1). Clock ticks therefore pause, so no source is considered silent.
void ClockTicks::Start(MonotonicTime now) {
  if (started_before_) PauseFrom(now);
  started_before_ = true;
  last_.reset();
}

void ClockTicks::NoteAppend(MonotonicTime begin, MonotonicTime end, const Status& status) {
  const bool away = !status.ok() && !absl::IsInvalidArgument(status);
  if (away || end - begin > options_.max_tick) PauseFrom(end);
}

Duration ClockTicks::ElapsedAt(MonotonicTime now) const {
  return last_.has_value() ? std::min(now - *last_, options_.max_tick) : Duration::Zero();
}

}  // namespace pitwall::processor
