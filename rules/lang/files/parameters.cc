#include "rules/lang/files/parameters.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

// Calls visit(selector) for each selector in the tree. `E` is Expr or const Expr.
template <typename E, typename F>
void VisitSelectorsBelow(E* root, F&& visit) {
  if (root == nullptr) return;
  Visit(*root, [&](E& expr) {
    if (auto* selector = expr.template As<SelectorExpr>()) visit(*selector);
  });
}

// Calls visit(selector) for each selector in the rule's expressions.
template <typename F>
void VisitSelectors(const RuleText& rule, F&& visit) {
  VisitSelectorsBelow<const Expr>(rule.expr.expr.get(), visit);
  if (rule.clear.has_value()) VisitSelectorsBelow<const Expr>(rule.clear->expr.get(), visit);
}
template <typename F>
void VisitSelectors(RuleText* rule, F&& visit) {
  VisitSelectorsBelow(rule->expr.expr.get(), visit);
  if (rule->clear.has_value()) VisitSelectorsBelow(rule->clear->expr.get(), visit);
}

void BindSelector(const std::vector<ParameterText>& parameters, SelectorExpr* selector) {
  const auto find = [&](const std::string& name) {
    return std::find_if(parameters.begin(), parameters.end(),
                        [&](const ParameterText& parameter) { return parameter.name == name; });
  };
  for (LabelMatcher& matcher : selector->matchers) {
    if (matcher.parameter.empty()) continue;
    const auto found = find(matcher.parameter);
    if (found != parameters.end()) matcher.value = found->text;
  }
  if (selector->samples_parameter.empty()) return;
  const auto found = find(selector->samples_parameter);
  if (found == parameters.end()) return;
  const bool whole =
      found->value >= 1 && found->value <= 1e9 && found->value == std::floor(found->value);
  selector->samples = whole ? static_cast<int64_t>(found->value) : 0;
}

}  // namespace

bool IsMatcherText(const RuleText& rule, std::string_view parameter) {
  bool found = false;
  VisitSelectors(rule, [&](const SelectorExpr& selector) {
    for (const LabelMatcher& matcher : selector.matchers)
      found = found || matcher.parameter == parameter;
  });
  return found;
}

bool IsSampleCount(const RuleText& rule, std::string_view parameter) {
  bool found = false;
  VisitSelectors(rule, [&](const SelectorExpr& selector) {
    found = found || selector.samples_parameter == parameter;
  });
  return found;
}

void BindParameters(RuleText* rule) {
  if (rule->parameters.empty()) return;
  VisitSelectors(rule, [&](SelectorExpr& selector) { BindSelector(rule->parameters, &selector); });
}

void BindParameters(const JobRegistry& bindings, RuleFile* file) {
  for (GroupText& group : file->groups) {
    std::map<std::string, int> repeats;
    for (RuleText& rule : group.rules) {
      std::string name = Cat(file->pack, "/", group.name, "/", rule.name);
      if (const int count = ++repeats[name]; count > 1) name += Cat("#", count);
      bool changed = false;
      for (ParameterText& parameter : rule.parameters) {
        const auto found = bindings.find({name, parameter.name});
        if (found == bindings.end()) continue;
        parameter.text = found->second;
        parameter.value = ParseDouble(found->second).value_or(0);
        changed = true;
      }
      if (changed) BindParameters(&rule);
    }
  }
}

}  // namespace pitwall::lang
