// Another program under a domain that runs (docs/time-model.md, section 7): a rule that did not
// change goes on with its state, every other one ends. What ends says so before anything is
// replaced, so that each event is made under the program, and by the parameters, that judged it.
#include <algorithm>
#include <map>
#include <utility>

#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/rule_state.h"

namespace pitwall::engine {

void ClockDomain::EndRule(RuleState* state, bool removed, const EvalTime& at,
                          const JobIdentity& job, EventSink* out) {
  if (state->alerts.has_value()) {
    transitions_.clear();
    state->alerts->EndAll(EndReason::kRuleRemoved, at, &transitions_);
    if (observer_ != nullptr) observer_->Ended(state->alerts->rule());
    EmitTransitions(state, at, /*at_tick=*/false, job, out);
  }
  // A rule without a reported status has nothing to end.
  if (!removed || !state->status.reported()) return;
  if (auto change = state->status.Stop("the rule was removed"))
    EmitStatus(*state, *change, at, job, out);
}

void ClockDomain::Remove(const EvalTime& at, const JobIdentity& job, EventSink* out) {
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) EndRule(state.get(), /*removed=*/true, at, job, out);
  }
}

void ClockDomain::HandOver(RuleState* from, RuleState* heir) {
  if (from->alerts.has_value()) {
    const alert::AlertRulePtr rule = *alert::AlertRule::Make(domain(), *heir->rule, heir->limit);
    heir->alerts = std::move(from->alerts);
    heir->alerts->SetRule(rule);
  }
  heir->inputs = std::move(from->inputs);
  heir->history_wait = from->history_wait;
  BinaryWriter status;  // its needs are the heir's own, which may be others
  from->status.Save(status);
  BinaryReader saved(status.data());
  heir->status.Restore(saved);
  if (NeedNames(*heir->rule) == NeedNames(*from->rule)) {
    heir->needs_met = std::move(from->needs_met);
    heir->needs_judged = from->needs_judged;
  }
}

void ClockDomain::Replace(plan::ProgramPtr program, size_t domain, const EvalTime& at,
                          const JobIdentity& job, EventSink* out) {
  const plan::ProgramPtr old_program = program_;  // owns the old rules until the end
  const plan::DomainPlan& old_space = this->domain();
  std::vector<GroupState> next = MakeStates(program->domains[domain]);

  std::map<std::pair<plan::RuleKind, std::string_view>, RuleState*> by_name;
  for (const GroupState& group : next) {
    for (const auto& state : group.rules)
      by_name.emplace(std::pair(state->rule->kind, std::string_view(state->rule->name)),
                      state.get());
  }
  // A rule is the same when name and fingerprint are: then its alerts, its status and what it saw
  // go on.
  std::vector<std::pair<RuleState*, RuleState*>> heirs;
  for (const GroupState& group : groups_) {
    for (const auto& state : group.rules) {
      const auto named = by_name.find({state->rule->kind, state->rule->name});
      RuleState* other = named == by_name.end() ? nullptr : named->second;
      if (other != nullptr && other->rule->fingerprint == state->rule->fingerprint &&
          other->broken.ok() && state->broken.ok()) {
        heirs.emplace_back(state.get(), other);
        continue;
      }
      EndRule(state.get(), /*removed=*/other == nullptr, at, job, out);
      if (other != nullptr) other->status.Succeed(state->status);
    }
  }

  std::vector<GroupState> old = std::move(groups_);
  program_ = std::move(program);
  domain_ = domain;
  store_->Replace(std::shared_ptr<const DemandSet>(program_, &program_->domains[domain_].demands));
  const int64_t judged =
      scheduled_ ? std::max({origin_ - 1, last_tick_, at.position}) : kMinPosition;
  subqueries_.Replace(program_, domain_, judged);
  evaluator_ = std::make_unique<eval::Evaluator>(program_, domain_);
  parameters_ = evaluator_->parameters();
  TakeStates(std::move(next));
  // What was dropped as unwanted until now cannot be judged: a group begins after it.
  if (scheduled_) ScheduleAfter(judged);
  HandOverRecorded(&old, old_space, at.position);
  for (const auto& [from, heir] : heirs) HandOver(from, heir);
}

}  // namespace pitwall::engine
