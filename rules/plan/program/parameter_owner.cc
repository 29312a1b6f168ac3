#include "rules/plan/program/parameter_owner.h"

#include <algorithm>
#include <cctype>

#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

// Returns true if the canonical text of an expression contains the metric name.
bool Names(std::string_view text, std::string_view metric) {
  for (size_t at = text.find(metric); at != std::string_view::npos;
       at = text.find(metric, at + 1)) {
    const size_t end = at + metric.size();
    if ((at == 0 || !IsNameChar(text[at - 1])) && (end == text.size() || !IsNameChar(text[end])))
      return true;
  }
  return false;
}

std::string_view TextOf(const DomainPlan& domain, const Rule& rule) {
  return rule.expr == kNoNode ? std::string_view() : domain.nodes[rule.expr.index()].text;
}

}  // namespace

std::vector<const Parameter*> MatchingParameters(const Program& program, std::string_view rule,
                                                 std::string_view parameter) {
  std::vector<const Parameter*> meant;
  const auto take = [&](const DomainPlan& domain, const Rule& of) {
    for (const uint32_t index : of.parameters) {
      if (domain.parameters[index].name == parameter) meant.push_back(&domain.parameters[index]);
    }
  };
  for (const DomainPlan& domain : program.domains) {
    std::vector<const Rule*> reached, recording;
    for (const Group& group : domain.groups) {
      for (const Rule& one : group.rules) {
        if (one.name == rule) reached.push_back(&one);
        if (one.kind == RuleKind::kRecord) recording.push_back(&one);
      }
    }
    if (reached.empty()) continue;
    take(domain, *reached.front());
    if (reached.front()->kind == RuleKind::kRecord) return meant;
    for (size_t i = 0; i < reached.size(); ++i) {
      for (const Rule* record : recording) {
        if (std::find(reached.begin(), reached.end(), record) != reached.end()) continue;
        if (!Names(TextOf(domain, *reached[i]), record->alert)) continue;
        reached.push_back(record);
        take(domain, *record);
      }
    }
    return meant;
  }
  return meant;
}

StatusOr<std::vector<const Parameter*>> MatchingNumbers(const Program& program,
                                                        std::string_view rule,
                                                        std::string_view parameter) {
  std::vector<std::string_view> rules, names;
  for (const DomainPlan& domain : program.domains) {
    for (const Group& group : domain.groups) {
      for (const Rule& one : group.rules) rules.push_back(one.name);
    }
    for (const Parameter& one : domain.parameters) {
      if (one.rule == rule) names.push_back(one.name);
    }
  }
  if (std::find(rules.begin(), rules.end(), rule) == rules.end())
    return InvalidArgument(
        Cat("rule: not in the rule set (", Quote(rule), ")", DidYouMean(rule, rules)));
  std::vector<const Parameter*> meant = MatchingParameters(program, rule, parameter);
  if (meant.empty()) {
    const std::vector<std::string> elsewhere = RulesWithParameter(program, parameter);
    return InvalidArgument(
        Cat("parameter: rule ", Quote(rule), " has no parameter ", Quote(parameter),
            elsewhere.empty() ? DidYouMean(parameter, names)
                              : Cat("; it is a parameter of ", Join(elsewhere, ", "))));
  }
  for (const Parameter* one : meant) {
    if (one->kind == ParameterKind::kNumber) continue;
    return InvalidArgument(Cat("parameter: ",
                               one->kind == ParameterKind::kText
                                   ? "the text of a matcher"
                                   : "the length of a window in samples",
                               " cannot be changed at runtime (", Quote(parameter), " of rule ",
                               Quote(one->rule), "); set it in the overrides file"));
  }
  return meant;
}

std::vector<std::string> RulesWithParameter(const Program& program, std::string_view parameter) {
  std::vector<std::string> rules;
  for (const DomainPlan& domain : program.domains) {
    for (const Parameter& one : domain.parameters) {
      if (one.name == parameter && rules.size() < 3) rules.push_back(one.rule);
    }
  }
  return rules;
}

std::string ShownValue(const Parameter& parameter) {
  return parameter.kind == ParameterKind::kText ? Quote(parameter.text)
                                                : FormatDouble(parameter.value);
}

}  // namespace pitwall::plan
