// Handling of rank ends: the last batch, and the consequences for the rank's job.
#pragma once

#include <memory>

#include "services/base/clock.h"
#include "services/collector/capture/node_captures.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/ranks/launch_watch.h"
#include "services/collector/ranks/leaving_ranks.h"
#include "services/collector/ranks/rank_source.h"
#include "services/collector/readers/monotonic_event_clock.h"

namespace pitwall::collector {

// Not thread-safe. The caller owns the constructor's arguments.
class RankEnds {
 public:
  RankEnds(JobRegistry* jobs, LaunchWatch* launches, const MonotonicEventClock& time,
           const Clock& clock)
      : jobs_(jobs), launches_(launches), time_(time), clock_(clock) {}

  // Sets the captures, which the caller owns. Null disables captures.
  void SetCaptures(NodeCaptures* captures) { captures_ = captures; }

  // Ends a rank after its goodbye.
  void Conclude(LeavingRanks::Done done);
  // Ends a rank whose process ended without a goodbye.
  void Conclude(std::unique_ptr<RankSource> source, const ProcessEnd& end);
  // Reports a rank as lost, using the time of its disconnect if that was recent.
  void Lose(std::unique_ptr<RankSource> source, const ProcessEnd& end);

  // Maximum time between the closing of a rank's connection and the exit of its process. The exit
  // status can be read only until the parent reaps the process.
  static constexpr int64_t kEndsWithinNs = 500 * kNanosPerMilli;

 private:
  JobRegistry* const jobs_;
  LaunchWatch* const launches_;
  const MonotonicEventClock& time_;
  const Clock& clock_;
  NodeCaptures* captures_ = nullptr;
};

}  // namespace pitwall::collector
