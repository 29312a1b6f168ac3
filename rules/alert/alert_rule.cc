#include "rules/alert/alert_rule.h"

#include <algorithm>

#include "rules/alert/transition.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {

StatusOr<std::shared_ptr<const AlertRule>> AlertRule::Make(const plan::DomainPlan& domain,
                                                           const plan::Rule& rule, uint32_t limit) {
  auto out = std::make_shared<AlertRule>();
  out->name_ = rule.name;
  out->alert_ = rule.alert;
  out->hold_ = rule.hold;
  out->keep_firing_ = rule.keep_firing;
  out->unsteady_ = rule.unsteady;
  out->limit_ = limit;
  out->fold_ = rule.fold;
  out->least_is_worst_ = rule.comparison.least_is_worst;
  for (const uint32_t index : rule.parameters) {
    if (index >= domain.parameters.size()) {
      return InvalidArgument(Cat(rule.file, ":", rule.line, ": rule ", rule.name,
                                 ": parameter index must be less than ", domain.parameters.size(),
                                 " (got ", index, ")"));
    }
    const plan::Parameter& parameter = domain.parameters[index];
    if (parameter.kind == plan::ParameterKind::kText) continue;  // Templates only support numbers.
    out->parameters_.emplace_back(parameter.name, index);
  }
  const auto parse = [&](const std::vector<plan::Template>& from, std::string_view what,
                         std::vector<NamedTemplate>* to) -> Status {
    for (const plan::Template& t : from) {
      const std::string place =
          Cat(rule.file, ":", rule.line, ": rule ", rule.name, ": ", what, " ", Quote(t.name));
      StatusOr<Template> parsed = Template::Parse(Cat("__alert_", rule.alert), t.text);
      if (!parsed.ok()) return Annotate(parsed.status(), place);
      for (const std::string& name : parsed->parameters()) {
        const bool known =
            std::any_of(out->parameters_.begin(), out->parameters_.end(),
                        [&](const auto& parameter) { return parameter.first == name; });
        if (!known) return InvalidArgument(Cat(place, ": the rule has no parameter ", Quote(name)));
      }
      if (parsed->queries().size() != t.queries.size()) {
        return InvalidArgument(Cat(place, ": template has ", parsed->queries().size(),
                                   " queries, but the plan has ", t.queries.size()));
      }
      std::vector<uint32_t> ids;
      for (const plan::NodeId node : t.queries) ids.push_back(node.value());
      to->push_back({t.name, parsed->WithQueries(std::move(ids)), t.text});
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(parse(rule.labels, "label", &out->labels_));
  RETURN_IF_ERROR(parse(rule.annotations, "annotation", &out->annotations_));
  for (const NamedTemplate& t : out->labels_) out->labels_vary_ |= t.text.varies();
  return std::shared_ptr<const AlertRule>(std::move(out));
}

std::string_view TransitionKindName(TransitionKind kind) {
  switch (kind) {
    case TransitionKind::kPending:
      return "pending";
    case TransitionKind::kDropped:
      return "dropped";
    case TransitionKind::kFound:
      return "found";
    case TransitionKind::kUpdated:
      return "updated";
    case TransitionKind::kResolved:
      return "resolved";
  }
  return "";
}

std::string_view Transition::Annotation(std::string_view name) const {
  for (const auto& [key, text] : annotations) {
    if (key == name) return text;
  }
  return {};
}

}  // namespace pitwall::alert
