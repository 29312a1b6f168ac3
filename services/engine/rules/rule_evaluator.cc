#include "services/engine/rules/rule_evaluator.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "services/engine/ticks/tick_queries.h"

namespace pitwall::engine {

void RuleEvaluator::BeginTick(const EvalTime& at) {
  if (observer_ != nullptr) observer_->TickBegins(at);
  to_.inputs->BeginTick(at.position);
}

void RuleEvaluator::EvaluateGroup(size_t group, const EvalScope& scope) {
  for (const auto& state : to_.rules->groups()[group]) {
    if (across_ranks_ || !state->spec.across_ranks) EvaluateRule(state.get(), scope);
  }
  SeriesWriter writer = Writer();
  if (to_.recorded->EndOrphans(group, scope.at.position, &writer))
    to_.inputs->evaluator().Changed();
}

void RuleEvaluator::EvaluateRule(RuleState* state, const EvalScope& scope) {
  ++to_.counters->evaluations;
  const RuleSpec& spec = state->spec;
  state->needs.Read(&to_.inputs->store()->results());
  Status error = state->broken;
  // A rule has no result while a need derived from its expression is missing, unless a window still
  // holds samples that an instant selector does not see. Those samples count, as in Prometheus.
  const bool needed = state->status.Gate(state->needs.met());
  if (error.ok() && (needed || !spec.rule.waits_for_needs)) {
    to_.inputs->subqueries().Run(spec.subqueries, &to_.inputs->evaluator());
    error =
        spec.alerting() ? EvaluateAlert(state, scope) : EvaluateRecord(state, scope.at.position);
    // The rule was evaluated as far as possible, but must not look healthy if samples are missing
    // from a window.
    if (error.ok()) error = to_.inputs->CheckWindows(spec.demands, scope.at.position);
  } else if (error.ok() && !state->output->written().empty()) {
    // The rule inherited these series at a reload and has not been evaluated yet.
    state->output->CollectNothing();
    FlushOutput(state, scope.at.position);
  }
  if (!error.ok()) {
    ++to_.counters->rule_errors;
    if (observer_ != nullptr) observer_->Failed(spec.rule, error);
  }
  to_.statuses->Report(state, error, scope);
}

Status RuleEvaluator::EvaluateAlert(RuleState* state, const EvalScope& scope) {
  const plan::Rule& rule = state->spec.rule;
  eval::Evaluator& evaluator = to_.inputs->evaluator();
  TickQueries queries(&evaluator);
  alert::AlertInput input{
      .at = scope.at, .parameters = evaluator.parameters(), .queries = &queries};
  // Results stay valid until the next call to Begin or Changed. Neither is called before the
  // results are used.
  ASSIGN_OR_RETURN(input.expr, evaluator.Evaluate(rule.expr));
  if (rule.comparison.subject != plan::kNoNode) {
    ASSIGN_OR_RETURN(input.subject, evaluator.Evaluate(rule.comparison.subject));
  }
  if (rule.clear != plan::kNoNode) {
    ASSIGN_OR_RETURN(input.clear, evaluator.Evaluate(rule.clear));
  }
  if (input.subject != nullptr && input.subject->type == plan::ValueType::kVector)
    state->inputs.Update(*input.subject);
  transitions_.clear();
  RETURN_IF_ERROR(state->alerts->Step(input, &transitions_));
  state->history_wait = state->firing() > 0
                            ? HistoryGate()
                            : state->spec.minimum_history.At(&evaluator, scope.at.position);
  if (observer_ != nullptr) observer_->Alerts(input, *state->alerts);
  to_.events->EmitTransitions(*state, transitions_, /*at_tick=*/true, scope);
  if (to_.rules->alerts_wanted()) {
    SeriesWriter writer = Writer();
    state->output->CollectAlerts(*state->alerts, &writer);
    FlushOutput(state, scope.at.position);
  }
  return OkStatus();
}

Status RuleEvaluator::EvaluateRecord(RuleState* state, Position position) {
  const plan::Rule& rule = state->spec.rule;
  ASSIGN_OR_RETURN(const eval::Vector* result, to_.inputs->evaluator().Evaluate(rule.expr));
  SeriesWriter writer = Writer();
  RETURN_IF_ERROR(state->output->Collect(rule, state->spec.limit, *result, position, &writer));
  FlushOutput(state, position);
  return OkStatus();
}

void RuleEvaluator::FlushOutput(RuleState* state, Position position) {
  SeriesWriter writer = Writer();
  if (state->output->Flush(position, &writer)) to_.inputs->evaluator().Changed();
}

void RuleEvaluator::JudgeNeeds(const std::function<bool(std::string_view)>& is_carried,
                               const EvalScope& scope) {
  // A recorded series counts as present if the recording rule's needs are met and the rule recorded
  // a sample at its last tick.
  absl::flat_hash_set<std::string_view> recorded;
  const auto is_present = [&](std::string_view metric) {
    return is_carried(metric) || recorded.contains(metric);
  };
  to_.rules->ForEach([&](RuleState& state) {
    const bool all_met = state.needs.Judge(is_present);
    if (!state.spec.alerting()) {
      if (all_met && !state.output->written().empty()) recorded.insert(state.spec.rule.alert);
      return;
    }
    if (!state.broken.ok()) return;
    // The error from the last tick persists.
    const Status error =
        state.status.status() == RuleStatus::kError ? Internal(state.status.reason()) : OkStatus();
    to_.statuses->Report(&state, error, scope);
  });
}

void RuleEvaluator::EndAlerts(RuleState* state, EndReason reason, const EvalScope& scope) {
  transitions_.clear();
  state->alerts->EndAll(reason, scope.at, &transitions_);
  if (observer_ != nullptr) observer_->Ended(state->alerts->rule());
  to_.events->EmitTransitions(*state, transitions_, /*at_tick=*/false, scope);
}

void RuleEvaluator::EndAll(EndReason reason, bool attempt_scope_only, const EvalScope& scope) {
  // The end of a job or attempt is not a verdict. The status changes immediately only if the job
  // continues.
  const bool judges = reason != EndReason::kJobEnded && scope.end_detail == EndDetail::kNone;
  to_.rules->ForEach([&](RuleState& state) {
    if (reason == EndReason::kAttemptEnded) {
      state.inputs.AttemptEnded();
      if (state.spec.minimum_history.begins_with_attempt())
        state.history_wait = {.what = HistoryGate::For::kTick};
    }
    const bool attempt_scope =
        to_.inputs->on_steps() || state.spec.rule.scope == plan::AlertScope::kAttempt;
    if (!state.alerts.has_value() || (attempt_scope_only && !attempt_scope)) return;
    EndAlerts(&state, reason, scope);
    if (judges && !transitions_.empty()) to_.statuses->Report(&state, OkStatus(), scope);
  });
}

void RuleEvaluator::EndRule(RuleState* state, bool removed, const EvalScope& scope) {
  if (state->alerts.has_value()) EndAlerts(state, EndReason::kRuleRemoved, scope);
  if (removed) to_.statuses->Stop(state, scope);
}

std::vector<RuleEvaluator::Succession> RuleEvaluator::EndChanged(const RuleTable& next,
                                                                 const EvalScope& scope) {
  std::map<std::pair<plan::RuleKind, std::string_view>, RuleState*> by_name;
  next.ForEach([&](RuleState& state) {
    by_name.emplace(std::pair(state.spec.rule.kind, std::string_view(state.spec.rule.name)),
                    &state);
  });
  std::vector<Succession> unchanged;
  to_.rules->ForEach([&](RuleState& state) {
    const plan::Rule& rule = state.spec.rule;
    const auto named = by_name.find({rule.kind, rule.name});
    RuleState* other = named == by_name.end() ? nullptr : named->second;
    if (other != nullptr && other->spec.rule.fingerprint == rule.fingerprint &&
        other->broken.ok() && state.broken.ok()) {
      unchanged.push_back({&state, other});
      return;
    }
    EndRule(&state, /*removed=*/other == nullptr, scope);
    if (other != nullptr) other->status.Succeed(state.status);
  });
  return unchanged;
}

void RuleEvaluator::RemoveAll(const EvalScope& scope) {
  to_.rules->ForEach([&](RuleState& state) { EndRule(&state, /*removed=*/true, scope); });
}

}  // namespace pitwall::engine
