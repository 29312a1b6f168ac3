#include "rules/check/validators.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::check {
namespace {

using lang::Expr;

void CheckDuration(const ExprContext& context, const lang::Duration& duration) {
  if (!context.group.clock.step) return;
  if (!duration.plain) {
    context.Error(duration.span,
                  Cat("durations on the step clock are plain numbers of steps, found ",
                      Quote(context.source.Text(duration.span))));
  } else if (duration.nanos % kStepUnit != 0) {
    context.Error(duration.span, "a number of steps must be whole");
  }
}

}  // namespace

void CheckClock(const ExprContext& context, const Expr& root) {
  lang::Visit(root, [&](const Expr& expr) {
    if (const auto* subquery = expr.As<lang::SubqueryExpr>()) {
      CheckDuration(context, subquery->range);
      if (subquery->step) CheckDuration(context, *subquery->step);
      if (subquery->modifiers.offset) CheckDuration(context, *subquery->modifiers.offset);
    }
    const auto* selector = expr.As<lang::SelectorExpr>();
    if (selector == nullptr) return;
    if (selector->window == lang::WindowSyntax::kDuration) CheckDuration(context, selector->range);
    if (selector->modifiers.offset) CheckDuration(context, *selector->modifiers.offset);
    if (!context.group.clock.step) return;

    const std::string_view name = MetricNameOf(*selector);
    const auto recorded = context.recorded.find(name);
    if (recorded != context.recorded.end()) {
      if (!recorded->second.on_step) {
        context.Error(
            expr.span,
            Cat(Quote(name), " is recorded on the time clock only: its samples carry no step"));
      }
      return;
    }
    const MetricInfo* metric = context.options.catalog->Find(name);
    if (metric != nullptr && !metric->has_steps) {
      context.Error(expr.span, Cat("samples of ", Quote(name),
                                   " carry no step: a rule on the step clock never sees them"));
    }
  });
}

}  // namespace pitwall::check
