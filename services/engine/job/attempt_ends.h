// Detection of dead attempts and finished jobs (time-model.md, section 4), in event-time order.
#pragma once

#include <cstdint>
#include <optional>

#include "services/engine/clocks/tick_runner.h"
#include "services/engine/job/job_lifecycle.h"
#include "services/engine/job/source_ends.h"
#include "services/engine/lifecycle/job_owner.h"
#include "services/engine/sources/job_input.h"

namespace pitwall::engine {

// In each function, `at` is the event time of the trigger. Not thread-safe.
class AttemptEnds {
 public:
  // The pointers are borrowed.
  AttemptEnds(const EngineOptions& options, const JobIdentity* job, const JobOwner* owner,
              JobInput* input, RowWriter* writer, StepInput* steps, TickRunner* ticks,
              JobAttempt* attempt, JobLifecycle* lifecycle);

  void OnRankLost(const JobEvent& event, EventTime at, EventSink* out);
  // Handles the exit of the launcher on the same node as `reporter`.
  void OnLauncherGone(const Source& reporter, EventTime at, EventSink* out);
  // Runs a due check scheduled by ScheduleCheck.
  void OnCheck(EventTime at, EventSink* out);
  // Handles the platform's report of an end. The report shortens the wait after an attempt has
  // died.
  void OnPlatformReport(const PlatformEnd& end, EventTime at);
  void OnJobEnded(const JobEvent& event, EventTime at, EventSink* out);
  // Ends the attempt if no rank is running and at least one was lost.
  void DieWithoutRanks(EventTime at, EventSink* out);
  // Removes sources that have been silent for too long and treats their ranks as stopped. `at` is
  // the watermark, or empty if the job has none yet.
  void RemoveExpired(std::optional<EventTime> at, EventSink* out);
  SourceEnds& sources() { return source_ends_; }

 private:
  // Adds a death to the attempt's failures.
  void CountDeath(const Source& source, const JobEvent& event, EventTime at);
  void EndWithoutLauncher(EventTime at, EventSink* out);
  // Schedules a check. It runs after an `ended` event at the same time, because that event has more
  // details.
  void ScheduleCheck(EventTime at);
  // Returns whether the prolog (run as root) declared that an epilog will report how the job ended.
  // On Kubernetes, a pod watcher announces such a report for each rank instead.
  bool PlatformReports() const;

  const EngineOptions& options_;
  const JobIdentity* const job_;
  const JobOwner* const owner_;
  SourceTable* const sources_;
  EventSchedule* const schedule_;
  TickRunner* const ticks_;
  StepInput* const steps_;
  AttemptRanks* const ranks_;
  const JobAttempt* const attempt_;
  JobLifecycle* const lifecycle_;
  SourceEnds source_ends_;
};

}  // namespace pitwall::engine
