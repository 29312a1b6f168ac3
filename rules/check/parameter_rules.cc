#include <algorithm>

#include "rules/check/validators.h"
#include "services/base/nearest.h"
#include "services/base/strings.h"

namespace pitwall::check {

void CheckParameters(const ExprContext& context, std::span<const lang::Expr* const> exprs,
                     std::span<const lang::Source* const> sources) {
  std::vector<std::string_view> declared;
  for (const lang::ParameterText& parameter : context.rule.parameters)
    declared.push_back(parameter.name);
  std::vector<std::string_view> used;
  for (size_t i = 0; i < exprs.size(); ++i) {
    lang::Visit(*exprs[i], [&](const lang::Expr& expr) {
      const auto* parameter = expr.As<lang::ParameterExpr>();
      if (parameter == nullptr) return;
      used.push_back(parameter->name);
      if (std::find(declared.begin(), declared.end(), parameter->name) != declared.end()) return;
      context.diagnostics->Error(
          *sources[i], expr.span,
          Cat("parameter $", parameter->name, " is not declared in the rule's params",
              DidYouMean(parameter->name, declared)));
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
