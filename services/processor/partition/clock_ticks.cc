#include "services/processor/partition/clock_ticks.h"

#include <algorithm>

namespace pitwall::processor {

// If this owner restarts after a failure, other clients have probably lost their connection to the
// log too (time-model.md 2.1). Clock ticks therefore pause, so no source is considered silent.
void ClockTicks::Start(int64_t now_ns) {
  if (started_before_) PauseFrom(now_ns);
  started_before_ = true;
  last_ns_ = -1;
}

void ClockTicks::NoteAppend(int64_t begin_ns, int64_t end_ns, const Status& status) {
  const bool away = !status.ok() && !absl::IsInvalidArgument(status);
  if (away || end_ns - begin_ns > options_.max_tick_ns) PauseFrom(end_ns);
}

int64_t ClockTicks::ElapsedAt(int64_t now_ns) const {
  return last_ns_ < 0 ? 0 : std::min(now_ns - last_ns_, options_.max_tick_ns);
}

}  // namespace pitwall::processor
