// Starts and ends of a job and its attempts, with the corresponding events (time-model.md, section
// 4).
#pragma once

#include <cstdint>
#include <optional>

#include "services/engine/clocks/job_rules.h"
#include "services/engine/clocks/step_input.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/lifecycle/job_changes.h"
#include "services/engine/lifecycle/job_tombstone.h"
#include "services/engine/sources/job_clock.h"

namespace pitwall::engine {

// In each function, `at` is the event time of the trigger. Not thread-safe.
class JobLifecycle {
 public:
  // The pointers are borrowed.
  JobLifecycle(const EngineOptions& options, JobIdentity* job, EngineCounters* counters,
               JobClock* clock, JobAttempt* attempt, StepInput* steps, JobRules* rules);

  // Returns whether the job is over, so that only its tombstone remains. After an `ended` event,
  // the tombstone drops later input. A job that ended by grace or silence resumes with its next
  // attempt when it returns.
  bool ended() const { return tombstone_.ended(); }
  // Returns whether the tombstone has expired.
  bool gone() const { return tombstone_.gone(); }
  // Event time of the end. Requires ended().
  EventTime ended_at() const { return tombstone_.ended_at(); }
  uint64_t attempt() const { return attempt_->number(); }
  // Returns the remaining event time that a job with a dead attempt waits for a rank to return.
  // Empty if the job is not waiting.
  std::optional<Duration> OverIn() const;

  void EmitStarted(EventTime at, EventSink* out);
  // Emits an event for the loss of a rank.
  void EmitRankLost(const Source& source, const RankLost& lost, EventTime at, EventSink* out);
  // Ends the running attempt and its issues, steps, and windows. Then starts the next attempt with
  // `first`.
  void BeginAttempt(uint64_t number, const Source& first, const SourceMap& sources, EventTime at,
                    EventSink* out);
  // Reopens an ended attempt when one of its sources returns.
  void Reopen(const Source& source, EventTime at, EventSink* out);
  // Emits an event for the death of the open attempt.
  void EmitAttemptEnded(EventTime at, EventSink* out);
  // Ends the issues of the dead attempt.
  void EndIssues(EventTime at, EndDetail detail, EventSink* out);
  // Ends the job. Returns the `ended` event, so that the caller can complete it.
  IssueEvent* End(EventTime at, EndDetail detail, bool by_event, EventSink* out);

  // Ages the tombstone of an ended job by one tick.
  void TickTombstone(Duration elapsed);
  // Returns whether the batch resumes an ended job.
  bool IsResumedBy(const Batch& batch) const;
  // Restarts the job with its next attempt. The job has no watermark until the next batch.
  void Resume();
  // If the job ended by grace or silence, replaces that end with the end that the batch reports
  // (from a completed action or the platform), if any.
  void Amend(AppendTime append_time, const Batch& batch, EventSink* out);

  // Saves whether the job has ended, and the age of the tombstone.
  void SaveAge(BinaryWriter& out) const { tombstone_.SaveAge(out); }
  void RestoreAge(BinaryReader& in) { tombstone_.RestoreAge(in); }
  // Saves the remaining state of an ended job, except its owner.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  const EngineOptions& options_;
  JobIdentity* const job_;
  JobClock* const clock_;
  JobAttempt* const attempt_;
  StepInput* const steps_;
  JobRules* const rules_;
  JobTombstone tombstone_;
  JobChanges changes_;
};

}  // namespace pitwall::engine
