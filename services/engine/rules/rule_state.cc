#include "services/engine/rules/rule_state.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"
#include "services/engine/ticks/subqueries.h"

namespace pitwall::engine {

RuleSpec::RuleSpec(const plan::DomainPlan& domain, const plan::Group& group,
                   const plan::Rule& compiled, bool across_ranks)
    : rule(compiled),
      interval(group.interval),
      align_job(group.align_job),
      limit(group.limit),
      across_ranks(across_ranks),
      minimum_history(domain, compiled),
      demands(DemandsBelow(domain, compiled.expr)) {
  for (const plan::DemandRef& demand : DemandsBelow(domain, compiled.clear))
    demands.push_back(demand);
  for (const plan::NodeId root : plan::RootsOf(compiled)) {
    for (const uint32_t subquery : SubqueriesBelow(domain, root)) subqueries.push_back(subquery);
  }
  for (const plan::DemandRef& ref : demands) {
    if (ref.source > 0) continue;
    const Demand& demand = domain.demands.demands[ref.demand];
    int64_t range = demand.range;
    // The number of samples per tick is unknown. Assumes one, because rules are written for at
    // least one sample per tick.
    if (demand.kind == WindowKind::kSamples) range = demand.range * demand.interval;
    // The length of an attempt is unknown.
    if (demand.kind == WindowKind::kAttempt || demand.kind == WindowKind::kFirst) {
      reach.from_attempt = true;
      range = 0;
    }
    reach.length = std::max(reach.length, Duration::Nanos(range + demand.offset));
  }
  for (const uint32_t subquery : subqueries) reach.length += domain.subqueries[subquery].reach;
}

RuleState::RuleState(const plan::DomainPlan& domain, const plan::Group& group,
                     const plan::Rule& rule, bool across_ranks, RuleOutput* output)
    : spec(domain, group, rule, across_ranks),
      broken(CheckWindows(domain, rule)),
      status(RuleNeeds::Names(rule)),
      needs(rule, domain.demands.clock.step),
      output(output) {
  if (!spec.alerting() || !broken.ok()) return;
  auto made = alert::AlertRule::Make(domain, rule, group.limit);
  if (made.ok()) {
    alerts.emplace(*std::move(made), alert::AlertOptions{.report_pending = false});
  } else {
    broken = made.status();
  }
}

void RuleState::Inherit(RuleState* from, const plan::DomainPlan& domain) {
  if (from->alerts.has_value()) {
    const alert::AlertRulePtr rule = *alert::AlertRule::Make(domain, spec.rule, spec.limit);
    alerts = std::move(from->alerts);
    alerts->SetRule(rule);
  }
  inputs = std::move(from->inputs);
  history_wait = from->history_wait;
  BinaryWriter saved;  // The needs of the rule may have changed.
  from->status.Save(saved);
  BinaryReader in(saved.data());
  status.Restore(in);
  needs.Inherit(&from->needs);
}

void RuleState::Save(BinaryWriter& out) const {
  out.Str(spec.rule.name);
  out.Bool(alerts.has_value());
  if (alerts.has_value()) alerts->Save(out);
  status.Save(out);
  inputs.Save(out);
  needs.Save(out);
  history_wait.Save(out);
  output->Save(out);
}

Status RuleState::Restore(BinaryReader& in) {
  const std::string name = in.Str();
  const bool alerting = in.Bool();
  if (name != spec.rule.name || alerting != alerts.has_value()) {
    return DataLoss(Cat("snapshot: contains rule ", Quote(name), ", but the rule set has ",
                        Quote(spec.rule.name)));
  }
  if (alerting) alerts->Restore(in);
  status.Restore(in);
  inputs.Restore(in);
  needs.Restore(in);
  history_wait.Restore(in);
  output->Restore(in);
  return in.ok() ? OkStatus() : DataLoss(Cat("snapshot: state of rule ", name, " is damaged"));
}

}  // namespace pitwall::engine
