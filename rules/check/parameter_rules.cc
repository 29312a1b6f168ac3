#include <algorithm>

#include "rules/check/validators.h"
#include "rules/lang/files/parameters.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall::check {

void CheckParameters(const ExprContext& context, std::span<const lang::Expr* const> exprs,
                     std::span<const lang::Source* const> sources) {
  std::vector<std::string_view> declared;
  for (const lang::ParameterText& parameter : context.rule.parameters)
    declared.push_back(parameter.name);
  std::vector<std::string_view> used;
  for (size_t i = 0; i < exprs.size(); ++i) {
    lang::Visit(*exprs[i], [&](const lang::Expr& expr) {
      const auto use = [&](const std::string& name, lang::Span span) {
        used.push_back(name);
        if (std::find(declared.begin(), declared.end(), name) != declared.end()) return true;
        context.diagnostics->Error(*sources[i], span,
                                   Cat("parameter $", name, " is not declared in the rule's params",
                                       DidYouMean(name, declared)));
        return false;
      };
      if (const auto* parameter = expr.As<lang::ParameterExpr>()) {
        const bool known = use(parameter->name, expr.span);
        if (known && lang::IsMatcherText(context.rule, parameter->name)) {
          context.diagnostics->Error(
              *sources[i], expr.span,
              Cat("parameter $", parameter->name,
                  " is the text of a matcher: it cannot be a number as well; declare two"));
        }
      }
      const auto* selector = expr.As<lang::SelectorExpr>();
      if (selector == nullptr) return;
      for (const lang::LabelMatcher& matcher : selector->matchers) {
        if (!matcher.parameter.empty()) use(matcher.parameter, matcher.span);
      }
      if (!selector->samples_parameter.empty())
        use(selector->samples_parameter, selector->window_span);
    });
  }
  for (const lang::ParameterText& parameter : context.rule.parameters) {
    if (std::find(used.begin(), used.end(), parameter.name) != used.end()) continue;
    context.diagnostics->Add(lang::Severity::kError, context.group.file->file, parameter.position,
                             Cat("parameter ", Quote(parameter.name), " is not used: no $",
                                 parameter.name, " in expr or clear"));
  }
}

}  // namespace pitwall::check
