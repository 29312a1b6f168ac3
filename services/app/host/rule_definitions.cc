#include "services/app/host/rule_definitions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"

#include "rules/plan/program/overrides.h"
#include "rules/plan/program/parameter_owner.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall {
namespace {

std::string TextOf(const std::vector<plan::Template>& templates, std::string_view name) {
  for (const plan::Template& one : templates) {
    if (one.name == name) return one.text;
  }
  return "";
}

// Returns the identifier that follows the prefix, or "".
std::string_view NameAfter(std::string_view action, std::string_view prefix) {
  const size_t at = action.find(prefix);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = action.substr(at + prefix.size());
  size_t length = 0;
  while (length < rest.size() &&
         (absl::ascii_isalnum(static_cast<unsigned char>(rest[length])) || rest[length] == '_')) {
    ++length;
  }
  return rest.substr(0, length);
}

// Returns a readable replacement for a template action, such as the value of a parameter, or the
// name of a label or variable.
std::string Meaning(std::string_view action,
                    const std::vector<history::RuleParameter>& parameters) {
  if (const auto name = NameAfter(action, "$params."); !name.empty()) {
    for (const history::RuleParameter& parameter : parameters) {
      if (parameter.name == name) return parameter.now;
    }
    return std::string(name);
  }
  if (const auto name = NameAfter(action, "$labels."); !name.empty()) return Cat("<", name, ">");
  if (action.find("$value") != std::string_view::npos) return "<value>";
  if (action.find("$step") != std::string_view::npos) return "<step>";
  return "…";
}

// Converts a template to readable text. Keeps the first branch of each `if`, and omits query
// results.
std::string Readable(std::string_view text, const std::vector<history::RuleParameter>& parameters) {
  std::string out;
  std::vector<bool> shown;  // one element per open block
  const auto visible = [&] { return absl::c_all_of(shown, [](bool one) { return one; }); };
  while (!text.empty()) {
    const size_t open = text.find("{{");
    if (visible()) out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos) break;  // the compiler rejects such a template
    std::string_view action = text.substr(open + 2, close - open - 2);
    text.remove_prefix(close + 2);
    while (!action.empty() && (action.front() == ' ' || action.front() == '-'))
      action.remove_prefix(1);
    if (StartsWith(action, "if ") || StartsWith(action, "with ") || StartsWith(action, "range ")) {
      shown.push_back(StartsWith(action, "if ") && action.find("query") == std::string_view::npos);
    } else if (StartsWith(action, "else")) {
      if (!shown.empty()) shown.back() = false;
    } else if (StartsWith(action, "end")) {
      if (!shown.empty()) shown.pop_back();
    } else if (visible()) {
      out += Meaning(action, parameters);
    }
  }
  return out;
}

// Parameter values for one job. The elements of both vectors correspond to DomainPlan::parameters.
struct JobValues {
  std::vector<double> values;
  std::vector<plan::ParameterSource> sources;
  lang::JobRegistry bindings;
};

JobValues ValuesFor(const plan::Program& program, const plan::DomainPlan& domain,
                    std::string_view job_id, std::string_view job_name) {
  JobValues out;
  if (program.overrides == nullptr) return out;
  out.values = program.overrides->ParametersFor(domain, job_id, job_name, {}, &out.sources);
  out.bindings = program.overrides->BindingsFor(job_id, job_name, {});
  return out;
}

history::RuleDefinition DefinitionOf(const plan::DomainPlan& domain, const plan::Rule& rule,
                                     const JobValues& now) {
  history::RuleDefinition out;
  out.rule = rule.name;
  out.severity = TextOf(rule.labels, "severity");
  if (rule.expr != plan::kNoNode)
    out.expression = plan::ShownText(domain, domain.nodes[rule.expr.index()]);
  out.clock = domain.demands.clock.ToString();
  out.hold = domain.demands.clock.step
                 ? Cat(FormatDouble(static_cast<double>(rule.hold.ns()) / kStepUnit), " steps")
                 : FormatDuration(rule.hold.ns());
  for (const plan::Need& need : rule.needs) out.needs.push_back(need.metric);
  for (const uint32_t index : rule.parameters) {
    const plan::Parameter& parameter = domain.parameters[index];
    const std::string value = plan::ShownValue(parameter);
    out.parameters.push_back(
        {parameter.name, value, parameter.unit, parameter.help, value, "rule"});
    if (now.sources.empty() || now.sources[index] == plan::ParameterSource::kRule) continue;
    history::RuleParameter& shown = out.parameters.back();
    shown.source = plan::ParameterSourceName(now.sources[index]);
    const auto bound = now.bindings.find({parameter.rule, parameter.name});
    shown.now = parameter.kind != plan::ParameterKind::kText ? FormatDouble(now.values[index])
                : bound == now.bindings.end()                ? value
                                                             : Quote(bound->second);
  }
  out.summary = Readable(TextOf(rule.annotations, "summary"), out.parameters);
  out.description = Readable(TextOf(rule.annotations, "description"), out.parameters);
  out.suggestion = Readable(TextOf(rule.annotations, "suggestion"), out.parameters);
  return out;
}

}  // namespace

history::RuleDefinitions RuleDefinitionsOf(const plan::Program& program, std::string_view job_id,
                                           std::string_view job_name) {
  history::RuleDefinitions out;
  for (const plan::DomainPlan& domain : program.domains) {
    const JobValues now = ValuesFor(program, domain, job_id, job_name);
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) {
        if (rule.kind == plan::RuleKind::kAlert)
          out.emplace(rule.name, DefinitionOf(domain, rule, now));
      }
    }
  }
  return out;
}

}  // namespace pitwall
