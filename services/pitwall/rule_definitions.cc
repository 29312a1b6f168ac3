#include "services/pitwall/rule_definitions.h"

#include <string>
#include <utility>

#include "rules/plan/parameter_owner.h"
#include "rules/plan/shown_text.h"
#include "services/base/duration.h"
#include "services/base/strings.h"
#include "services/model/position.h"

namespace pitwall {
namespace {

std::string TextOf(const std::vector<plan::Template>& templates, std::string_view name) {
  for (const plan::Template& one : templates) {
    if (one.name == name) return one.text;
  }
  return "";
}

insights::RuleDefinition DefinitionOf(const plan::Space& space, const plan::Rule& rule) {
  insights::RuleDefinition out;
  out.rule = rule.name;
  out.severity = TextOf(rule.labels, "severity");
  out.summary = TextOf(rule.annotations, "summary");
  out.description = TextOf(rule.annotations, "description");
  out.suggestion = TextOf(rule.annotations, "suggestion");
  if (rule.expr != plan::kNoNode)
    out.expression = plan::ShownText(space, space.nodes[rule.expr.index()]);
  out.clock = space.demands.clock.ToString();
  out.hold = space.demands.clock.step
                 ? Cat(FormatDouble(static_cast<double>(rule.hold) / kStepUnit), " steps")
                 : FormatDuration(rule.hold);
  for (const plan::Need& need : rule.needs) out.needs.push_back(need.metric);
  for (const uint32_t index : rule.parameters) {
    const plan::Parameter& parameter = space.parameters[index];
    out.parameters.push_back(
        {parameter.name, plan::ShownValue(parameter), parameter.unit, parameter.help});
  }
  return out;
}

}  // namespace

insights::RuleDefinitions RuleDefinitionsOf(const plan::Program& program) {
  insights::RuleDefinitions out;
  for (const plan::Space& space : program.spaces) {
    for (const plan::Group& group : space.groups) {
      for (const plan::Rule& rule : group.rules) {
        if (rule.kind == plan::RuleKind::kAlert) out.emplace(rule.name, DefinitionOf(space, rule));
      }
    }
  }
  return out;
}

}  // namespace pitwall
