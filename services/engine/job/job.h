// The state of one job: sources, watermark, attempts, step clocks, windows, rules. A deterministic
// state machine over the records of the log in offset order; time-model.md gives its rules.
// Single-threaded, reads no clock.
//
// Everything that a record brings waits until the job's watermark passes its event time, and is
// then applied in the order (position, phase, source, boot, sequence, index). Attempts, falls of
// the step and ends of sources are decided in that order too, so the order in which sources'
// batches arrive changes no event.
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

// Its parts know only those declared above them.
class Job {
 public:
  // `rules` null: none yet. `counters` is borrowed.
  Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
      EngineCounters* counters);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // `raw` is the record's value, which is dead-lettered when its schema never comes.
  void OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw, EventSink* out);
  // Ends the job where it goes to the owner of the batch: the batch begins it again, in another
  // Job. False: it does not.
  bool DisplaceFor(const Batch& batch, EventSink* out);
  // A clock tick of the partition.
  void OnTick(int64_t elapsed_ns, EventSink* out);
  // Another rule set, from the next evaluation on. Rules that did not change keep their state.
  void SetRules(CompiledRulesPtr rules, EventSink* out);
  // What came before is not known (time-model.md, section 6): its rules are in Error until their
  // windows are full.
  void LoseHistory() { rules_.domains().LoseHistory(); }
  // Forgets the alerts without an event.
  void DropAlerts();
  // No source will come any more, and the watermark may pass everything that was read (the end of a
  // finished input).
  void FinishInput(bool end_job, EventSink* out);

  const JobIdentity& identity() const { return identity_; }
  const JobClock& clock() const { return clock_; }
  const JobLifecycle& lifecycle() const { return lifecycle_; }
  const ClockDomains& domains() const { return rules_.domains(); }
  const SourceTable& sources() const { return input_.sources(); }
  // Ticks of log time that the job has read: they pace its snapshots.
  int64_t log_time_ns() const { return log_time_.ticks_ns(); }
  size_t MemoryBytes() const;

  void Save(BinaryWriter& out) const;
  // Into a job made with the rule set that was in force.
  // `format`: kSnapshotJob of the version that saved it, or kSnapshotJobBefore.
  Status Restore(BinaryReader& in, uint32_t format);

 private:
  // False: the batch is of another owner, and counted as that.
  bool TakeOwner(const Batch& batch);
  void Advance(int64_t to, EventSink* out);
  // Forgets all but the name and how it ended.
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

// Whether what Job::Save wrote is of a job that is over; false also when it is damaged.
bool SavedAsEnded(std::string_view saved);

}  // namespace pitwall::engine
