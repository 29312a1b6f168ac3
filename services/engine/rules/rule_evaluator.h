// Evaluation of the rules of one domain: alerts, recorded series, needs, and the ends of issues.
// Private to the engine.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/alert/alert_state.h"
#include "services/base/status.h"
#include "services/engine/program/counters.h"
#include "services/engine/recording/recorded_series.h"
#include "services/engine/recording/rule_observer.h"
#include "services/engine/rules/issue_event_builder.h"
#include "services/engine/rules/rule_state.h"
#include "services/engine/rules/rule_table.h"
#include "services/engine/rules/status_reporter.h"
#include "services/engine/ticks/domain_inputs.h"

namespace pitwall::engine {

// Not thread-safe.
class RuleEvaluator {
 public:
  // Parts of the domain that evaluation changes.
  struct Targets {
    DomainInputs* inputs;
    RuleTable* rules;
    RecordedSeries* recorded;
    IssueEventBuilder* events;
    StatusReporter* statuses;
    EngineCounters* counters;
  };

  // A rule and the same rule of another program: name and fingerprint are equal.
  struct Succession {
    RuleState* from;
    RuleState* to;
  };

  // Borrows all. `across_ranks`: false on a separate step clock, which skips rules across ranks.
  RuleEvaluator(const Targets& targets, bool across_ranks)
      : to_(targets), across_ranks_(across_ranks) {}

  // Null for none. Borrowed.
  void SetObserver(RuleObserver* observer) { observer_ = observer; }
  // Values of the parameters of the domain, in the order of the plan.
  void SetParameters(std::vector<double> values) {
    to_.inputs->evaluator().SetParameters(std::move(values));
  }
  // Step clock: the ranks that it does not wait for ("rank 1"), which issues of rules across ranks
  // name; "" without any.
  void SetMissingRanks(std::string ranks) { to_.events->SetMissingRanks(std::move(ranks)); }

  // Begins a tick: the inputs are as of `at`.
  void BeginTick(const EvalTime& at);
  // Evaluates the rules of a group in order.
  void EvaluateGroup(size_t group, const EvalScope& scope);
  // Step clock, on the time clock: judges the needs of each rule, and updates its status. A metric
  // is present if `is_carried` says so, or if a rule recorded it at its last tick.
  void JudgeNeeds(const std::function<bool(std::string_view)>& is_carried, const EvalScope& scope);
  // Ends all open issues (of scope attempt only, if so) and lets statuses forget which elements
  // they saw. The end of a job, or of an attempt by death, is no verdict: statuses stay as they
  // are, so that none looks healthy by it.
  void EndAll(EndReason reason, bool attempt_scope_only, const EvalScope& scope);
  // Emits each final status of an ended job that has not been emitted.
  void FinishStatuses(const EvalScope& scope) { to_.statuses->Finish(scope); }
  // A reload, before anything is replaced: each event is made under the program, and with the
  // parameters, that evaluated it. Ends the rules that `next` lacks or that changed. Returns the
  // others.
  std::vector<Succession> EndChanged(const RuleTable& next, const EvalScope& scope);
  // No program has the clock any more: every rule ends as removed.
  void RemoveAll(const EvalScope& scope);

 private:
  SeriesWriter Writer() const { return {to_.inputs->store().get(), observer_}; }
  void EvaluateRule(RuleState* state, const EvalScope& scope);
  Status EvaluateAlert(RuleState* state, const EvalScope& scope);
  Status EvaluateRecord(RuleState* state, int64_t position);
  // Writes the samples that the rule's output has collected.
  void FlushOutput(RuleState* state, int64_t position);
  // The rule ends. `removed`: no other rule has its name, and its status ends.
  void EndRule(RuleState* state, bool removed, const EvalScope& scope);
  void EndAlerts(RuleState* state, EndReason reason, const EvalScope& scope);

  const Targets to_;
  const bool across_ranks_;
  RuleObserver* observer_ = nullptr;
  std::vector<alert::Transition> transitions_;  // scratch
};

}  // namespace pitwall::engine
