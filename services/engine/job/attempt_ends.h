// Decides when an attempt has died and when the job is over (time-model.md, section 4), in order of
// event time.
#pragma once

#include <cstdint>
#include <optional>

#include "services/engine/clocks/tick_runner.h"
#include "services/engine/job/job_lifecycle.h"
#include "services/engine/job/source_ends.h"
#include "services/engine/lifecycle/job_owner.h"
#include "services/engine/sources/job_input.h"

namespace pitwall::engine {

// `at` of each function: event time of what happens. Not thread-safe.
class AttemptEnds {
 public:
  // All are borrowed.
  AttemptEnds(const EngineOptions& options, const JobIdentity* job, const JobOwner* owner,
              JobInput* input, RowWriter* writer, StepInput* steps, TickRunner* ticks,
              JobAttempt* attempt, JobLifecycle* lifecycle);

  void OnRankLost(const JobEvent& event, int64_t at, EventSink* out);
  // The launcher on the node of `reporter` is gone.
  void OnLauncherGone(const Source& reporter, int64_t at, EventSink* out);
  // A check of ScheduleCheck is due.
  void OnCheck(int64_t at, EventSink* out);
  // The platform of the job reports an end. It shortens the wait of an attempt that has died.
  void OnPlatformReport(const PlatformEnd& end, int64_t at);
  void OnJobEnded(const JobEvent& event, int64_t at, EventSink* out);
  // The attempt has died when no rank runs and at least one was lost.
  void DieWithoutRanks(int64_t at, EventSink* out);
  // Removes sources that were silent for too long: their ranks do not run any more. `at`: the
  // watermark; none: the job has none yet.
  void RemoveExpired(std::optional<int64_t> at, EventSink* out);
  SourceEnds& sources() { return source_ends_; }

 private:
  // A death adds to the failures of the attempt.
  void CountDeath(const Source& source, const JobEvent& event, int64_t at);
  void EndWithoutLauncher(int64_t at, EventSink* out);
  // After an `ended` event of the same time, which has more details.
  void ScheduleCheck(int64_t at);
  // An epilog will report how the job ended, as root's prolog has declared it. A watcher of pods
  // announces that for each rank.
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
