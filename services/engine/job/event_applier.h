// Applier for all input below a job's watermark, in event-time order, with rule ticks in between
// (time-model.md 2.6).
#pragma once

#include <cstdint>
#include <vector>

#include "services/engine/clocks/tick_runner.h"
#include "services/engine/job/attempt_ends.h"
#include "services/engine/job/attempt_starts.h"
#include "services/engine/job/job_lifecycle.h"
#include "services/engine/sources/job_input.h"

namespace pitwall::engine {

// Not thread-safe.
class EventApplier {
 public:
  // The pointers are borrowed.
  EventApplier(const EngineOptions& options, EngineCounters* counters, JobIdentity* job,
               JobClock* clock, JobInput* input, JobRules* rules, StepInput* steps,
               TickRunner* ticks, JobAttempt* attempt, JobLifecycle* lifecycle, AttemptEnds* ends);

  // Applies all input up to the watermark `to`. Stops when the job ends.
  void ApplyUpTo(EventTime to, EventSink* out);

 private:
  void ApplyInOrder(const std::vector<RowRef>& rows, EventTime to, EventSink* out);
  void ApplyRow(const RowRef& row, EventSink* out);
  void ApplyEvent(const TimelineEventKey& key, const TimelineEvent& event, EventSink* out);
  // Applies an event that a source reported about itself at time `at`.
  void ApplySourceEvent(const TimelineEvent& event, EventTime at, Source* source, EventSink* out);
  void OnJobStarted(const JobEvent& event, EventTime at, EventSink* out);
  void OnNotice(const JobEvent& event, EventTime at);
  // Merges the labels into the job's labels. If two sources set different values for a label, the
  // newer value wins.
  void MergeLabels(const std::vector<Label>& labels);

  const EngineOptions& options_;
  EngineCounters* const counters_;
  JobIdentity* const job_;
  JobClock* const clock_;
  JobInput* const input_;
  JobRules* const rules_;
  StepInput* const steps_;
  TickRunner* const ticks_;
  JobAttempt* const attempt_;
  JobLifecycle* const lifecycle_;
  AttemptEnds* const ends_;
  AttemptStarts starts_;
};

}  // namespace pitwall::engine
