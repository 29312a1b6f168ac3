// State of one job: sources, watermark, attempts, step clocks, windows, and rules. A deterministic
// state machine that applies the log's records in offset order, according to time-model.md.
// Single-threaded, independent of the system clock.
//
// All data in a record waits until the job's watermark passes its event time. The data is then
// applied in the order (time, phase, source, boot, sequence, index). Attempts, decreasing step
// numbers, and source ends are handled in the same order. The arrival order of batches from
// different sources therefore does not change any event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/engine/clocks/job_rules.h"
#include "services/engine/clocks/step_input.h"
#include "services/engine/clocks/tick_runner.h"
#include "services/engine/job/attempt_ends.h"
#include "services/engine/job/batch_reader.h"
#include "services/engine/job/event_applier.h"
#include "services/engine/job/job_lifecycle.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/lifecycle/job_owner.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/job_clock.h"
#include "services/engine/sources/job_input.h"
#include "services/engine/sources/log_time.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// Each part depends only on parts declared above it.
class Job {
 public:
  // `rules` is null before the first rule set. `counters` is borrowed.
  Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
      EngineCounters* counters);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // `raw` is the record's value. It is dead-lettered if its schema never arrives.
  void OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw, EventSink* out);
  // Ends the job and returns true if the batch gives the job to another owner. The batch then
  // starts the job again in a new Job object.
  bool DisplaceFor(const Batch& batch, EventSink* out);
  // Handles a clock tick of the partition.
  void OnTick(Duration elapsed, EventSink* out);
  // Installs another rule set, starting at the next evaluation. Unchanged rules keep their state.
  void SetRules(CompiledRulesPtr rules, EventSink* out);
  // Marks earlier data as lost (time-model.md, section 6). The rules have status Error until their
  // windows are full.
  void LoseHistory() { rules_.domains().LoseHistory(); }
  // Drops the alerts without emitting events.
  void DropAlerts();
  // Advances the watermark past all data read so far, because a finished input has no further
  // sources.
  void FinishInput(bool end_job, EventSink* out);

  const JobIdentity& identity() const { return identity_; }
  const JobClock& clock() const { return clock_; }
  const JobLifecycle& lifecycle() const { return lifecycle_; }
  const ClockDomains& domains() const { return rules_.domains(); }
  const SourceTable& sources() const { return input_.sources(); }
  // Returns the total elapsed time of the clock ticks that the job has read. Determines when
  // snapshots are due.
  Duration log_time() const { return log_time_.ticks(); }
  size_t MemoryBytes() const;

  void Save(BinaryWriter& out) const;
  // Restores into a job created with the rule set that was active at the time of the snapshot.
  // `format` is kSnapshotJob or kSnapshotJobBefore.
  Status Restore(BinaryReader& in, uint32_t format);

 private:
  // Returns false, and counts the batch, if it belongs to another owner.
  bool TakeOwner(const Batch& batch);
  void Advance(EventTime to, EventSink* out);
  // Drops all state except the name and the details of the job's end.
  void Forget();

  const EngineOptions options_;
  EngineCounters* const counters_;
  JobIdentity identity_;
  JobOwner owner_;
  JobClock clock_;
  LogTime log_time_;
  LimitReport limits_;
  JobInput input_;
  JobRules rules_;
  JobAttempt attempt_;
  StepInput steps_;
  TickRunner ticks_;
  JobLifecycle lifecycle_;
  AttemptEnds ends_;
  BatchReader reader_;
  EventApplier applier_;
};

// Returns whether data written by Job::Save describes an ended job. Returns false for damaged data
// too.
bool SavedAsEnded(std::string_view saved);

}  // namespace pitwall::engine
