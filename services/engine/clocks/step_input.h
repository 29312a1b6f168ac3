// Input to the step clocks. Applies the ranks' steps and step promises in event-time order and
// advances the watermarks (time-model.md, section 3).
#pragma once

#include <string>
#include <vector>

#include "services/base/time.h"
#include "services/engine/clocks/job_rules.h"
#include "services/engine/clocks/step_evaluation.h"
#include "services/engine/clocks/step_placement.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// In each function, `at` is the event time of the applied item. Not thread-safe.
class StepInput {
 public:
  // The pointers are borrowed.
  StepInput(const EngineOptions& options, EngineCounters* counters, LimitReport* limits,
            SourceTable* sources, JobRules* rules, const JobAttempt* attempt);

  // Registers the step modes that a rank announces. Their clocks then wait for the rank's promises.
  void Announce(Source* source, const std::vector<std::string>& modes);
  // Applies a rank's promise that it will log no further data at or before the step.
  void Promise(Source* source, const std::string& mode, Step step, EventTime at, EventSink* out);
  // Applies one row for a step.
  void Apply(const RowRef& row, Step step, EventSink* out);
  // Stops waiting for a source that will promise no further steps. `ended` means that its process
  // has ended for good.
  void AdvanceWithout(const Source& source, bool ended, EventTime at, EventSink* out);
  // Evaluates every logged step.
  void FinishAll(EventTime at, EventSink* out) { evaluation_.FinishAll(at, out); }
  // Starts a new attempt: windows restart, and every rank returns to the shared clock.
  void BeginAttempt();
  // Must be called when a rank has stopped running.
  void OnRankLeft(const Source& source) { placement_.OnRankLeft(source); }
  // Updates the status and needs of step rules at event time `at`.
  void JudgeNeeds(EventTime at, const JobIdentity& job, EventSink* out);
  // Must be called after a snapshot is restored.
  void NameMissingRanks();

 private:
  void Advance(ClockDomain* domain, EventTime at, EventSink* out);
  // Handles a step number that decreases within the attempt because the rank resumed from a
  // checkpoint.
  void Restart(Source* source, const std::string& mode, EventTime at, EventSink* out);
  // Returns whether the source may add a mode. At the limit, returns false and counts the drop.
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
