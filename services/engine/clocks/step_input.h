// Steps and step promises of ranks in order of event time: feeds the step clocks, and moves their
// watermarks (time-model.md, section 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/engine/clocks/job_rules.h"
#include "services/engine/clocks/step_evaluation.h"
#include "services/engine/clocks/step_placement.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// `at` of each function: event time of what is applied. Not thread-safe.
class StepInput {
 public:
  // All are borrowed.
  StepInput(const EngineOptions& options, EngineCounters* counters, LimitReport* limits,
            SourceTable* sources, JobRules* rules, const JobAttempt* attempt);

  // A rank announces modes of steps: their clocks wait for its promises.
  void Announce(Source* source, const std::vector<std::string>& modes);
  // A rank promises that it logs nothing more at or before the step.
  void Promise(Source* source, const std::string& mode, int64_t step, int64_t at, EventSink* out);
  // Applies a row of a step.
  void Apply(const RowRef& row, int64_t step, EventSink* out);
  // The source promises no further steps. With `ended` its process is gone for good.
  void AdvanceWithout(const Source& source, bool ended, int64_t at, EventSink* out);
  // Evaluates every step that was logged.
  void FinishAll(int64_t at, EventSink* out) { evaluation_.FinishAll(at, out); }
  // Another attempt begins: windows start again, and every rank is on the shared clock.
  void BeginAttempt();
  // A rank does not run any more.
  void OnRankLeft(const Source& source) { placement_.OnRankLeft(source); }
  // Judges status and needs of step rules at an event time.
  void JudgeNeeds(int64_t time_ns, const JobIdentity& job, EventSink* out);
  // After a snapshot was restored.
  void NameMissingRanks();

 private:
  void Advance(ClockDomain* domain, int64_t at, EventSink* out);
  // The step of the rank fell inside the attempt (it returned to a checkpoint).
  void Restart(Source* source, const std::string& mode, int64_t at, EventSink* out);
  // False, and counted: the source has too many modes already.
  bool HasRoomForMode(const Source& source, const std::string& mode);

  const EngineOptions& options_;
  EngineCounters* const counters_;
  LimitReport* const limits_;
  SourceTable* const sources_;
  JobRules* const rules_;
  const JobAttempt* const attempt_;
  StepPlacement placement_;
  StepEvaluation evaluation_;
};

}  // namespace pitwall::engine
