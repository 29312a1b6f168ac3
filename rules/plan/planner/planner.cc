#include "rules/plan/planner/planner.h"

#include <algorithm>
#include <map>

#include "rules/lang/files/parameters.h"
#include "rules/plan/planner/expression_planner.h"
#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::plan {
namespace {

using check::CheckedGroup;
using check::CheckedRule;

std::vector<Template> Templates(const std::vector<check::CheckedText>& texts,
                                ExpressionPlanner* planner) {
  std::vector<Template> out;
  for (const check::CheckedText& text : texts) {
    out.push_back({text.name, text.text, {}});
    for (const auto& query : text.queries)
      out.back().queries.push_back(planner->PlanResult(*query));
  }
  return out;
}

// Computes Rule::fingerprint. Node texts are canonical, so spelling and comments do not matter.
std::string Fingerprint(const Rule& rule, const DomainPlan& domain, const ClockSpec& clock) {
  BinaryWriter out;
  const auto node = [&](NodeId id) {
    out.Str(id == kNoNode ? std::string() : domain.nodes[id.index()].text);
  };
  out.Str(clock.ToString());
  out.U8(static_cast<uint8_t>(rule.kind));
  out.Str(rule.alert);
  node(rule.expr);
  node(rule.clear);
  out.I64(rule.hold.ns());
  out.I64(rule.keep_firing.ns());
  out.U8(static_cast<uint8_t>(rule.scope));
  // Defaults are omitted so that existing fingerprints do not change.
  for (const std::string& label : rule.fold) out.Str(Cat("fold ", label));
  if (rule.unsteady > Duration::Zero()) out.Str(Cat("unsteady ", rule.unsteady.ns()));
  out.U64(rule.labels.size());
  for (const Template& label : rule.labels) {
    out.Str(label.name);
    out.Str(label.text);
  }
  out.U64(rule.parameters.size());
  for (const uint32_t index : rule.parameters) {
    out.Str(domain.parameters[index].name);
    out.Double(domain.parameters[index].value);
  }
  return StableHashHex(out.data());
}

std::optional<Duration> ToDuration(std::optional<int64_t> nanos) {
  return nanos ? std::optional(Duration::Nanos(*nanos)) : std::nullopt;
}

Rule PlanRule(const CheckedGroup& group, const CheckedRule& checked, DomainBuilder* domain) {
  const lang::RuleText& text = *checked.text;
  Rule rule;
  rule.kind = text.alert ? RuleKind::kAlert : RuleKind::kRecord;
  rule.name = checked.name;
  rule.alert = text.name;
  rule.file = group.file->file->name();
  rule.line = text.position.line;
  rule.hold = Duration::Nanos(text.hold);
  rule.keep_firing = Duration::Nanos(text.keep_firing);
  rule.unsteady = Duration::Nanos(text.unsteady_ns);
  rule.scope = checked.attempt_scope ? AlertScope::kAttempt : AlertScope::kJob;

  uint32_t first_parameter = 0;
  for (const lang::ParameterText& parameter : text.parameters) {
    Parameter planned{checked.name, parameter.name, parameter.value, parameter.unit,
                      parameter.help};
    if (lang::IsMatcherText(text, parameter.name)) {
      planned.kind = ParameterKind::kText;
      planned.text = parameter.text;
    } else if (lang::IsSampleCount(text, parameter.name)) {
      planned.kind = ParameterKind::kCount;
    }
    const uint32_t index = domain->AddParameter(std::move(planned));
    if (rule.parameters.empty()) first_parameter = index;
    rule.parameters.push_back(index);
  }
  ExpressionPlanner planner(group, checked, first_parameter, domain);
  rule.expr = planner.PlanResult(*text.expr.expr);
  rule.labels = Templates(checked.labels, &planner);
  rule.annotations = Templates(checked.annotations, &planner);
  if (text.alert) {
    if (text.clear) rule.clear = planner.PlanResult(*text.clear->expr);
    rule.comparison = planner.PlanComparison(*text.expr.expr);
    for (const lang::FoldText& label : text.fold) rule.fold.push_back(label.label);
    std::sort(rule.fold.begin(), rule.fold.end());
    rule.waits_for_needs = text.needs.has_value();
    for (const lang::ExplainsText& explained : text.explains)
      rule.explains.push_back({explained.alert, explained.equal, explained.job_wide,
                               ToDuration(explained.lag), ToDuration(explained.within)});
    for (const std::string& metric : checked.needs)
      rule.needs.push_back({metric, planner.PlanNeed(metric)});
  }
  rule.fingerprint = Fingerprint(rule, domain->domain(), group.clock);
  return rule;
}

}  // namespace

Program PlanRuleSet(const check::CheckedRuleSet& rule_set) {
  // ClockSpec orders the time clock before step clocks, and step clocks by mode.
  std::map<ClockSpec, DomainBuilder> domains;
  for (const CheckedGroup& checked : rule_set.groups) {
    if (checked.rules.empty()) continue;
    DomainBuilder& domain = domains.try_emplace(checked.clock, checked.clock).first->second;
    Group group;
    group.name = checked.name;
    group.file = checked.file->file->name();
    group.interval = Duration::Nanos(checked.interval);
    group.align_job = checked.text->align_job;
    group.lookback = Duration::Nanos(checked.lookback);
    group.limit = checked.text->limit;
    for (const CheckedRule& rule : checked.rules)
      group.rules.push_back(PlanRule(checked, rule, &domain));
    domain.AddGroup(std::move(group));
  }
  Program program;
  for (auto& [clock, domain] : domains) program.domains.push_back(domain.Take());
  return program;
}

}  // namespace pitwall::plan
