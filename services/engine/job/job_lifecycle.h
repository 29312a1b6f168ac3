// Begin and end of a job and of its attempts, with the events of both (time-model.md, section 4).
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

// `at` of each function: event time of what happens. Not thread-safe.
class JobLifecycle {
 public:
  // All are borrowed.
  JobLifecycle(const EngineOptions& options, JobIdentity* job, EngineCounters* counters,
               JobClock* clock, JobAttempt* attempt, StepInput* steps, JobRules* rules);

  // Over: nothing but the tombstone remains. An ended event leaves one that drops what comes later;
  // a job over by grace or silence resumes with its next attempt when it returns.
  bool ended() const { return tombstone_.ended(); }
  // What remains of it has expired.
  bool gone() const { return tombstone_.gone(); }
  // Event time, where ended().
  int64_t ended_at() const { return tombstone_.ended_at(); }
  uint64_t attempt() const { return attempt_->number(); }
  // How long a job whose attempt has died still waits for a rank that returns, in its time; none:
  // it does not wait.
  std::optional<int64_t> OverInNs() const;

  void EmitStarted(int64_t at, EventSink* out);
  // A rank was lost.
  void EmitRankLost(const Source& source, const RankLost& lost, int64_t at, EventSink* out);
  // Ends the attempt that runs: its issues, steps, and windows. Begins the next one with `first`.
  void BeginAttempt(uint64_t number, const Source& first, const SourceMap& sources, int64_t at,
                    EventSink* out);
  // A source of the attempt that has ended is here: it continues.
  void Reopen(const Source& source, int64_t at, EventSink* out);
  // The open attempt has died.
  void EmitAttemptEnded(int64_t at, EventSink* out);
  // Ends the issues of the attempt that has died.
  void EndIssues(int64_t at, EndDetail detail, EventSink* out);
  // Ends the job. Returns the event of its end, which the caller may complete.
  IssueEvent* End(int64_t at, EndDetail detail, bool by_event, EventSink* out);

  // A tick of a job that has ended.
  void TickTombstone(int64_t elapsed_ns);
  // Whether the batch resumes a job that has ended.
  bool IsResumedBy(const Batch& batch) const;
  // Begins the job again, as its next attempt. It has no watermark until the next batch.
  void Resume();
  // A job that was over by grace or silence ends by event after all: an action that stopped it was
  // done, or its platform reports how it ended.
  void Amend(int64_t append_time_ns, const Batch& batch, EventSink* out);

  // Whether it has ended, and the age of the tombstone.
  void SaveAge(BinaryWriter& out) const { tombstone_.SaveAge(out); }
  void RestoreAge(BinaryReader& in) { tombstone_.RestoreAge(in); }
  // All else that a job keeps when it has ended, but its owner.
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
