#include "services/engine/lifecycle/job_tombstone.h"

namespace pitwall::engine {

bool JobTombstone::IsResumedBy(const Batch& batch, const std::optional<EventTime>& died_at) const {
  if (by_event_) return false;
  if (died_at.has_value()) {
    // Telemetry from the job's nodes and late records of its dead ranks do not restart the job.
    return batch.info.kind == SourceKind::kRank && batch.info.start > *died_at;
  }
  // A report that a rank is dead does not show that the job is alive.
  if (std::any_of(batch.events.begin(), batch.events.end(), [](const JobEvent& event) {
        return event.kind == JobEvent::Kind::kRankLost ||
               event.kind == JobEvent::Kind::kLauncherGone;
      }))
    return false;
  if (batch.promise > ended_at_) return true;
  return std::any_of(batch.frames.begin(), batch.frames.end(), [&](const Frame& frame) {
    return std::any_of(frame.times.begin(), frame.times.end(),
                       [&](int64_t ns) { return EventTime::FromNs(ns) > ended_at_; });
  });
}

}  // namespace pitwall::engine
