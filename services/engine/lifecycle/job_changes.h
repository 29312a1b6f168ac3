// Numbered events about the job itself (io.pitwall.job.changed). The first event reports the job's
// start.
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/lifecycle/attempt_failures.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/model/issues/issue.h"

namespace pitwall::engine {

// Not thread-safe.
class JobChanges {
 public:
  // The pointers are borrowed. `failures` provides the initiator of a stop.
  JobChanges(const JobIdentity* job, const AttemptFailures* failures, EngineCounters* counters)
      : job_(job), failures_(failures), counters_(counters) {}

  // Emits the event. If it is the first one, emits the start event before it. Returns the event, so
  // that the caller can complete it before emitting another one.
  IssueEvent* Emit(JobChange change, EndDetail detail, EventTime at, uint64_t attempt,
                   EventSink* out);
  // Emits the start of the job in the attempt, unless it has been emitted.
  void EmitStarted(EventTime at, uint64_t attempt, EventSink* out);
  // Prepares for a restart of the job. The start event is emitted again unless `had_attempts` is
  // set.
  void Resume(bool had_attempts) { started_emitted_ = had_attempts; }

  void Save(BinaryWriter& out) const {
    out.U64(changes_emitted_);
    out.Bool(started_emitted_);
  }
  void Restore(BinaryReader& in) {
    changes_emitted_ = in.U64();
    started_emitted_ = in.Bool();
  }

 private:
  const JobIdentity* const job_;
  const AttemptFailures* const failures_;
  EngineCounters* const counters_;
  bool started_emitted_ = false;
  uint64_t changes_emitted_ = 0;  // Sequence number of the events.
};

}  // namespace pitwall::engine
