// Evaluator for the rules in one domain: alerts, recorded series, needs, and issue ends. Private to
// the engine.
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
  // Parts of the domain that an evaluation changes.
  struct Targets {
    DomainInputs* inputs;
    RuleTable* rules;
    RecordedSeries* recorded;
    IssueEventBuilder* events;
    StatusReporter* statuses;
    EngineCounters* counters;
  };

  // A rule and its successor in another program. Both have the same name and fingerprint.
  struct Succession {
    RuleState* from;
    RuleState* to;
  };

  // The pointers are borrowed. `across_ranks` is false on a separate step clock, which skips
  // cross-rank rules.
  RuleEvaluator(const Targets& targets, bool across_ranks)
      : to_(targets), across_ranks_(across_ranks) {}

  // Sets the observer. Borrowed; may be null.
  void SetObserver(RuleObserver* observer) { observer_ = observer; }
  // Sets the parameter values of the domain, in plan order.
  void SetParameters(std::vector<double> values) {
    to_.inputs->evaluator().SetParameters(std::move(values));
  }
  // Sets the ranks that this step clock does not wait for (such as "rank 1"), or "". Issues from
  // cross-rank rules list these ranks.
  void SetMissingRanks(std::string ranks) { to_.events->SetMissingRanks(std::move(ranks)); }

  // Starts a tick with the inputs as of `at`.
  void BeginTick(const EvalTime& at);
  // Evaluates the rules of the group in order.
  void EvaluateGroup(size_t group, const EvalScope& scope);
  // Updates the needs and the status of each step rule on the time clock. A metric is present if
  // `is_carried` returns true or if a rule recorded it at its last tick.
  void JudgeNeeds(const std::function<bool(std::string_view)>& is_carried, const EvalScope& scope);
  // Ends all open issues, or only those with scope attempt, and clears the elements that statuses
  // have seen. The end of a job or the death of an attempt is not a verdict. Statuses stay
  // unchanged, so no rule looks healthy because its job ended.
  void EndAll(EndReason reason, bool attempt_scope_only, const EvalScope& scope);
  // Emits the final statuses of an ended job, unless they have been emitted.
  void FinishStatuses(const EvalScope& scope) { to_.statuses->Finish(scope); }
  // Prepares for a reload. Must be called before any part is replaced, because each event needs the
  // program and parameters that its rule was evaluated with. Stops rules that have changed or are
  // missing from `next`. Returns the remaining rules.
  std::vector<Succession> EndChanged(const RuleTable& next, const EvalScope& scope);
  // Stops all rules as removed, because the new program does not use the clock.
  void RemoveAll(const EvalScope& scope);

 private:
  SeriesWriter Writer() const { return {to_.inputs->store().get(), observer_}; }
  void EvaluateRule(RuleState* state, const EvalScope& scope);
  Status EvaluateAlert(RuleState* state, const EvalScope& scope);
  Status EvaluateRecord(RuleState* state, Position position);
  // Writes the samples that the rule's output has collected.
  void FlushOutput(RuleState* state, Position position);
  // Stops the rule. `removed` means that no other rule has its name, so its status ends too.
  void EndRule(RuleState* state, bool removed, const EvalScope& scope);
  void EndAlerts(RuleState* state, EndReason reason, const EvalScope& scope);

  const Targets to_;
  const bool across_ranks_;
  RuleObserver* observer_ = nullptr;
  std::vector<alert::Transition> transitions_;  // Scratch space.
};

}  // namespace pitwall::engine
