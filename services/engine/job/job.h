// One job: sources, watermark, attempts, step clocks, windows, and rules. A deterministic state
// machine that applies the log's records in offset order, according to time-model.md.
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

#include "services/engine/clocks/tick_runner.h"
#include "services/engine/job/attempt_ends.h"
#include "services/engine/job/batch_reader.h"
#include "services/engine/job/event_applier.h"
#include "services/engine/job/job_state.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

class Job {
 public:
  // `rules` is null before the first rule set. `counters` is borrowed.
  Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
      EngineCounters* counters);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // `raw` is the record's value. It is dead-lettered if its schema never arrives.
  void OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw, EventSink* out);
  // Ends the job and returns true if the batch assigns the job to another owner. The batch then
  // starts the job again in a new Job object.
  bool DisplaceFor(const Batch& batch, EventSink* out);
  // Handles a clock tick of the partition.
  void OnTick(Duration elapsed, EventSink* out);
  // Installs another rule set, starting at the next evaluation. Unchanged rules keep their state.
  void SetRules(CompiledRulesPtr rules, EventSink* out);
  // Marks earlier data as lost (time-model.md, section 6). The rules have status Error until their
  // windows are full.
  void LoseHistory() { state_.rules.domains().LoseHistory(); }
  // Drops the alerts without emitting events.
  void DropAlerts();
  // Advances the watermark past all data read so far, because a finished input has no further
  // sources.
  void FinishInput(bool end_job, EventSink* out);

  const JobState& state() const { return state_; }
  size_t MemoryBytes() const { return sizeof(*this) + state_.HeldBytes(); }

  void Save(BinaryWriter& out) const { state_.Save(out); }
  // Restores into a job created with the rule set that was active at the time of the snapshot.
  // `format` is kSnapshotJob or kSnapshotJobBefore.
  Status Restore(BinaryReader& in, uint32_t format) { return state_.Restore(in, format); }

 private:
  // Returns false, and counts the batch, if it belongs to another owner.
  bool TakeOwner(const Batch& batch);
  void Advance(EventTime to, EventSink* out);

  const EngineOptions options_;
  EngineCounters* const counters_;
  JobState state_;
  // Parts that change the state. Each depends only on parts declared above it.
  TickRunner ticks_;
  AttemptEnds ends_;
  BatchReader reader_;
  EventApplier applier_;
};

// Returns whether data written by Job::Save describes an ended job. Returns false for damaged data
// too.
bool SavedAsEnded(std::string_view saved);

}  // namespace pitwall::engine
