// Evaluation of rules on step clocks (time-model.md, section 3).
#pragma once

#include "services/base/time.h"
#include "services/engine/clocks/job_rules.h"
#include "services/engine/lifecycle/job_attempt.h"

namespace pitwall::engine {

// In each function, `at` is the event time of the promise or event that moves the clock's
// watermark. Not thread-safe.
class StepEvaluation {
 public:
  // Both pointers are borrowed.
  StepEvaluation(JobRules* rules, const JobAttempt* attempt) : rules_(rules), attempt_(attempt) {}

  // Moves the clock's watermark to position `to` and evaluates each due step.
  void EvaluateTo(ClockDomain* domain, Position to, EventTime at, EventSink* out);
  // Evaluates every logged step. Must be called only if no further data belongs to these steps.
  void Finish(ClockDomain* domain, EventTime at, EventSink* out);
  void FinishAll(EventTime at, EventSink* out);
  // Updates the status and needs of step rules. `carried(metric)` returns whether any rank that
  // reports steps sends the metric.
  template <typename F>
  void JudgeNeeds(EventTime time, const F& carried, const JobIdentity& job, EventSink* out) {
    for (const auto& domain : rules_->domains().steps()) {
      if (!domain->id().is_shared()) continue;
      domain->evaluator().JudgeNeeds(carried,
                                     {OnClock(*domain, attempt_->ContextAt(time)), job, out});
    }
  }

 private:
  JobRules* const rules_;
  const JobAttempt* const attempt_;
};

}  // namespace pitwall::engine
