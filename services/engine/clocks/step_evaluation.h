// Evaluation of rules on step clocks (time-model.md, section 3).
#pragma once

#include <cstdint>

#include "services/engine/clocks/job_rules.h"
#include "services/engine/lifecycle/job_attempt.h"

namespace pitwall::engine {

// `at` of each function: event time of what moves the watermark of the clock. Not thread-safe.
class StepEvaluation {
 public:
  // Both are borrowed.
  StepEvaluation(JobRules* rules, const JobAttempt* attempt) : rules_(rules), attempt_(attempt) {}

  // Moves the watermark of the clock to the position `to` and evaluates each step that is due.
  void EvaluateTo(ClockDomain* domain, int64_t to, int64_t at, EventSink* out);
  // Evaluates every step that was logged: nothing that follows belongs to them.
  void Finish(ClockDomain* domain, int64_t at, EventSink* out);
  void FinishAll(int64_t at, EventSink* out);
  // Judges status and needs of step rules. `carried(metric)`: some rank in the steps sends it.
  template <typename F>
  void JudgeNeeds(int64_t time_ns, const F& carried, const JobIdentity& job, EventSink* out) {
    for (const auto& domain : rules_->domains().steps()) {
      if (!domain->id().is_shared()) continue;
      domain->evaluator().JudgeNeeds(carried,
                                     {OnClock(*domain, attempt_->ContextAt(time_ns)), job, out});
    }
  }

 private:
  JobRules* const rules_;
  const JobAttempt* const attempt_;
};

}  // namespace pitwall::engine
