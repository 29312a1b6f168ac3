#include <algorithm>
#include <utility>

#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"
#include "services/model/windows/pane_grid.h"
#include "services/model/windows/window_limits.h"
#include "services/model/windows/window_state.h"

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

// Walks an expression and tracks the evaluation interval: the group's interval, or the step of the
// enclosing subquery.
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
    const auto* call = expr.As<lang::CallExpr>();
    const lang::CallExpr* outer = std::exchange(call_, call != nullptr ? call : call_);
    for (const Expr* child : lang::Children(expr)) Check(*child);
    call_ = outer;
  }

 private:
  void CheckModifiers(const lang::Modifiers& modifiers) {
    if (context_.options.stored_samples) return;
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
    const bool stored = context_.options.stored_samples;
    const int64_t offset = modifiers.offset && !stored ? modifiers.offset->nanos : 0;
    if (range <= kMaxPosition / 4 && offset <= kMaxPosition / 4) return false;
    context_.Error(span, "the window reaches back too far");
    return true;
  }

  // Checks the size of the state that the store keeps for each series.
  void CheckCost(lang::Span window_span, const lang::Modifiers& modifiers, int64_t range) {
    if (context_.options.stored_samples) return;
    const FunctionRow* function = call_ == nullptr ? nullptr : FindFunction(call_->function);
    if (function != nullptr && function->state == StateFamily::kStates)
      return;  // such windows keep state changes instead of samples
    Demand demand;
    demand.kind = range > 0 ? WindowKind::kTime : WindowKind::kInstant;
    demand.range = range;
    demand.offset = modifiers.offset ? std::max<int64_t>(0, modifiers.offset->nanos) : 0;
    demand.interval = interval_;
    const bool keeps_samples = range > 0 && function != nullptr && NeedsEverySample(*function);
    const int64_t most = keeps_samples ? kMaxKeptSamples : kMaxPanes;
    const WindowPanes held = ShapeOf(demand, Position()).panes;
    if (held.Reach() <= most) return;
    const bool window = held.count > most;
    const int64_t panes = window ? held.count : held.Reach();
    std::string text = Cat(window ? "a window of " : "an offset of ",
                           Length(context_, window ? range : demand.offset), " has ", panes,
                           " panes for each series");
    if (keeps_samples) {
      CatTo(text, ", and ", call_->function, " keeps every sample of them, at most ", most);
    } else {
      const auto count = static_cast<double>(panes);
      const WindowState state = WindowStateOf(WindowKind::kTime, StateFamily::kSums);
      CatTo(text, ", ", FormatBytes(WindowStateBytes(state, count, count)), " and more, at most ",
            most);
    }
    CatTo(text, " are allowed: use a longer interval (now ", Length(context_, interval_), ")");
    if (keeps_samples && call_->function == "quantile_over_time")
      text += ", or sketch_quantile_over_time, which has an error of at most 1 %";
    if (!keeps_samples) text += ", or record a shorter window and look at that";
    context_.Error(window ? window_span : modifiers.offset->span, text);
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
    if (range / step > kMaxPanes && !context_.options.stored_samples) {
      context_.Error(
          subquery.window_span,
          Cat("a subquery of ", Length(context_, range), " has ", range / step, " evaluations of ",
              Length(context_, step), ", at most ", kMaxPanes, " are allowed: use a longer step"));
    }
    const int64_t outer = std::exchange(interval_, step);
    const lang::CallExpr* outer_call = std::exchange(call_, nullptr);
    Check(*subquery.expr);
    interval_ = outer;
    call_ = outer_call;
  }

  void CheckSelector(lang::Span span, const lang::SelectorExpr& selector) {
    CheckModifiers(selector.modifiers);
    if (selector.window == lang::WindowSyntax::kSamples &&
        (selector.samples < 1 || selector.samples > kMaxKeptSamples)) {
      context_.Error(selector.window_span, Cat("a window has 1 to ", kMaxKeptSamples,
                                               " samples, this one ", selector.samples));
    }
    if (selector.window == lang::WindowSyntax::kFirst && selector.samples > kMaxFirstSamples) {
      context_.Error(
          selector.window_span,
          Cat("a window of first samples has 1 to ", kMaxFirstSamples,
              " of them, since they are kept for the whole attempt, this one ", selector.samples));
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
  const lang::CallExpr* call_ = nullptr;  // call that encloses the expression
};

}  // namespace

void CheckWindows(const ExprContext& context, const Expr& root) {
  WindowChecker(context).Check(root);
}

}  // namespace pitwall::check
