#include <algorithm>
#include <utility>

#include "rules/check/validators.h"
#include "services/base/duration.h"
#include "services/base/strings.h"
#include "services/model/pane_grid.h"
#include "services/model/position.h"

namespace pitwall::check {
namespace {

using lang::Expr;
using lang::Severity;

std::string Length(const ExprContext& context, int64_t positions) {
  if (context.group.clock.step) {
    return Cat(FormatDouble(static_cast<double>(positions) / static_cast<double>(kStepUnit)),
               " steps");
  }
  return IsWholeMillis(positions) ? FormatDuration(positions)
                                  : Cat(FormatDouble(static_cast<double>(positions) / 1e9), "s");
}

// Walks an expression with the interval at which what it looks at is evaluated: the group's, or the
// step of the subquery around it.
class WindowChecker {
 public:
  explicit WindowChecker(const ExprContext& context)
      : context_(context), interval_(context.group.interval) {}

  void Check(const Expr& expr) {
    if (const auto* subquery = expr.As<lang::SubqueryExpr>()) {
      CheckSubquery(expr.span, *subquery);
      return;
    }
    if (const auto* selector = expr.As<lang::SelectorExpr>()) CheckSelector(expr.span, *selector);
    for (const Expr* child : lang::Children(expr)) Check(*child);
  }

 private:
  void CheckModifiers(const lang::Modifiers& modifiers) {
    if (modifiers.at) {
      context_.diagnostics->Unsupported(
          context_.source, modifiers.at->span,
          "@ reads at a fixed time and needs history: a live rule cannot use it");
    }
    if (modifiers.offset && modifiers.offset->nanos < 0) {
      context_.diagnostics->Unsupported(
          context_.source, modifiers.offset->span,
          "a negative offset reads the future: a live rule cannot use it");
    }
  }

  bool TooFar(lang::Span span, const lang::Modifiers& modifiers, int64_t range) {
    const int64_t offset = modifiers.offset ? modifiers.offset->nanos : 0;
    if (range <= kMaxPosition / 4 && offset <= kMaxPosition / 4) return false;
    context_.Error(span, "the window reaches back too far");
    return true;
  }

  // What the store keeps for each series.
  void CheckCost(lang::Span window_span, const lang::Modifiers& modifiers, int64_t range) {
    Demand demand;
    demand.kind = range > 0 ? WindowKind::kTime : WindowKind::kInstant;
    demand.range = range;
    demand.offset = modifiers.offset ? std::max<int64_t>(0, modifiers.offset->nanos) : 0;
    demand.interval = interval_;
    const WindowShape shape = ShapeOf(demand, 0);
    if (shape.panes + shape.delay <= kMaxPanes) return;
    const bool window = shape.panes > kMaxPanes;
    context_.Error(
        window ? window_span : modifiers.offset->span,
        Cat(window ? "a window of " : "an offset of ",
            Length(context_, window ? range : demand.offset), " has ",
            window ? shape.panes : shape.panes + shape.delay, " panes for each series, at most ",
            kMaxPanes, " are allowed: use a longer interval (now ", Length(context_, interval_),
            ")"));
  }

  void CheckSubquery(lang::Span span, const lang::SubqueryExpr& subquery) {
    CheckModifiers(subquery.modifiers);
    const int64_t range = subquery.range.nanos;
    const int64_t step = subquery.step ? subquery.step->nanos : context_.group.subquery_step;
    if (TooFar(span, subquery.modifiers, range)) return;
    if (range <= 0 || step <= 0) {
      context_.Error(subquery.window_span, "a subquery needs a range and a step greater than 0");
      return;
    }
    CheckCost(subquery.window_span, subquery.modifiers, range);
    if (range / step > kMaxPanes) {
      context_.Error(
          subquery.window_span,
          Cat("a subquery of ", Length(context_, range), " has ", range / step, " evaluations of ",
              Length(context_, step), ", at most ", kMaxPanes, " are allowed: use a longer step"));
    }
    const int64_t outer = std::exchange(interval_, step);
    Check(*subquery.expr);
    interval_ = outer;
  }

  void CheckSelector(lang::Span span, const lang::SelectorExpr& selector) {
    CheckModifiers(selector.modifiers);
    if (selector.window == lang::WindowSyntax::kSamples &&
        (selector.samples < 1 || selector.samples > kMaxPanes)) {
      context_.Error(selector.window_span,
                     Cat("a window has 1 to ", kMaxPanes, " samples, this one ", selector.samples));
    }
    const int64_t range =
        selector.window == lang::WindowSyntax::kDuration ? selector.range.nanos : 0;
    if (TooFar(span, selector.modifiers, range)) return;
    CheckCost(selector.window_span, selector.modifiers, range);
    if (selector.window == lang::WindowSyntax::kDuration && range < 2 * interval_) {
      context_.Add(Severity::kWarning, selector.window_span,
                   Cat("the window of ", Length(context_, range),
                       " is shorter than two intervals of the group (", Length(context_, interval_),
                       "): it may hold too few samples, or skip some between two evaluations"));
    }
  }

  const ExprContext& context_;
  int64_t interval_;
};

}  // namespace

void CheckWindows(const ExprContext& context, const Expr& root) {
  WindowChecker(context).Check(root);
}

}  // namespace pitwall::check
