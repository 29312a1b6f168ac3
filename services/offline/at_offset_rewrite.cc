#include "services/offline/at_offset_rewrite.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <variant>

#include "rules/lang/printer.h"
#include "rules/plan/compile.h"
#include "rules/plan/planner/selector_of.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/offline/at_offset_folding.h"

namespace pitwall::offline {
namespace {

using lang::CallExpr;
using lang::Expr;
using lang::Modifiers;
using lang::SelectorExpr;
using lang::SubqueryExpr;

Expr& Unwrapped(lang::ExprPtr& expr) {
  Expr* at = expr.get();
  while (auto* paren = std::get_if<lang::ParenExpr>(&at->node)) at = paren->expr.get();
  return *at;
}

Modifiers* ModifiersOf(Expr& expr) {
  if (auto* selector = std::get_if<SelectorExpr>(&expr.node)) return &selector->modifiers;
  if (auto* subquery = std::get_if<SubqueryExpr>(&expr.node)) return &subquery->modifiers;
  return nullptr;
}

bool IsWindow(const Expr& expr) {
  const auto* selector = expr.As<SelectorExpr>();
  return expr.As<SubqueryExpr>() != nullptr ||
         (selector != nullptr && selector->window != lang::WindowSyntax::kNone);
}

bool ReadsAhead(const Modifiers& modifiers) {
  return !modifiers.at && modifiers.offset && modifiers.offset->nanos < 0;
}

// Returns the metric name from the selector or from its __name__ matcher.
std::string NameOf(const SelectorExpr& selector) {
  if (!selector.name.empty()) return selector.name;
  for (const lang::LabelMatcher& matcher : selector.matchers) {
    if (matcher.label == kMetricName && matcher.op == MatchOp::kEqual) return matcher.value;
  }
  return "";
}

void Rename(SelectorExpr* selector, std::string name) {
  std::erase_if(selector->matchers,
                [](const lang::LabelMatcher& matcher) { return matcher.label == kMetricName; });
  selector->name = std::move(name);
}

// Replaces `expr` with the sum of `expr` and `seconds`.
void Add(Expr* expr, double seconds) {
  auto left = std::make_unique<Expr>();
  left->span = expr->span;
  left->depth = expr->depth;
  left->node = std::move(expr->node);
  auto right = std::make_unique<Expr>();
  right->span = expr->span;
  right->node = lang::NumberExpr{std::fabs(seconds), false};
  lang::BinaryExpr sum;
  sum.op = seconds < 0 ? BinaryOp::kSub : BinaryOp::kAdd;
  sum.left = std::move(left);
  sum.right = std::move(right);
  auto inner = std::make_unique<Expr>();
  inner->span = expr->span;
  inner->depth = expr->depth + 1;
  inner->node = std::move(sum);
  expr->node = lang::ParenExpr{std::move(inner)};
  expr->depth += 2;
}

std::string Length(int64_t nanos) {
  return IsWholeMillis(nanos) ? FormatDuration(nanos) : Cat(nanos, "ns");
}

class Rewriter {
 public:
  Rewriter(std::optional<int64_t> start, std::optional<int64_t> end, OtherTimes* out)
      : start_(start), end_(end), out_(out) {}

  void SetGroup(int64_t interval, int64_t lookback) {
    interval_ = interval;
    lookback_ = lookback;
  }

  void Rewrite(const lang::Source& source, Expr* expr) {
    source_ = &source;
    changed_ = false;
    Walk(expr, /*in_subquery=*/false);
    if (changed_ && lang::Print(*expr).find(kMetricName) != std::string::npos)
      Refuse(*expr,
             "is not supported together with a selector on __name__, which would see the generated "
             "name");
  }
  void Refuse(const Expr& expr, std::string_view why) {
    if (!status_.ok()) return;
    status_ = Unimplemented(Cat(Place(expr), ": error: @ or a negative offset ", why));
  }
  void SetSource(const lang::Source& source) { source_ = &source; }
  const Status& status() const { return status_; }
  const std::vector<std::pair<std::string, std::string>>& read() const { return read_; }

 private:
  std::string Place(const Expr& expr) const {
    const auto at = source_->Locate(expr.span.begin);
    return Cat(source_->file()->name(), ":", at.line, ":", at.column);
  }

  void Walk(Expr* expr, bool in_subquery) {
    if (auto* selector = std::get_if<SelectorExpr>(&expr->node)) {
      if (ReadsAhead(selector->modifiers)) {
        MakeCopy(expr, selector);
      } else if (selector->modifiers.at && !in_subquery && !IsWindow(*expr)) {
        MakeConstant(expr, expr);
      }
      return;
    }
    if (auto* call = std::get_if<CallExpr>(&expr->node)) return WalkCall(expr, call, in_subquery);
    if (auto* subquery = std::get_if<SubqueryExpr>(&expr->node))
      return Walk(subquery->expr.get(), true);
    if (auto* unary = std::get_if<lang::UnaryExpr>(&expr->node))
      return Walk(unary->expr.get(), in_subquery);
    if (auto* paren = std::get_if<lang::ParenExpr>(&expr->node))
      return Walk(paren->expr.get(), in_subquery);
    if (auto* binary = std::get_if<lang::BinaryExpr>(&expr->node)) {
      Walk(binary->left.get(), in_subquery);
      Walk(binary->right.get(), in_subquery);
    }
    if (auto* aggregate = std::get_if<lang::AggregateExpr>(&expr->node)) {
      if (aggregate->parameter != nullptr) Walk(aggregate->parameter.get(), in_subquery);
      Walk(aggregate->expr.get(), in_subquery);
    }
  }

  void WalkCall(Expr* expr, CallExpr* call, bool in_subquery) {
    const bool of_sample = call->function == "timestamp";
    const bool of_time = of_sample || StartsWith(call->function, "ts_of_");
    int64_t ahead = 0;
    for (lang::ExprPtr& argument : call->arguments) {
      Expr& inner = Unwrapped(argument);
      const Modifiers* modifiers = ModifiersOf(inner);
      if (modifiers == nullptr || !(IsWindow(inner) || of_sample)) continue;
      if (modifiers->at) {
        const bool fixed = std::all_of(
            call->arguments.begin(), call->arguments.end(), [&](const lang::ExprPtr& other) {
              return &other == &argument || other->As<lang::NumberExpr>() != nullptr ||
                     other->As<lang::StringExpr>() != nullptr;
            });
        if (fixed && !in_subquery && call->function != "predict_linear") MakeConstant(expr, &inner);
        return;
      }
      if (ReadsAhead(*modifiers) && inner.As<SelectorExpr>() != nullptr)
        ahead = -modifiers->offset->nanos;
    }
    for (lang::ExprPtr& argument : call->arguments) Walk(argument.get(), in_subquery);
    if (ahead == 0) return;
    const double seconds = static_cast<double>(ahead) / 1e9;
    if (of_time) {
      Add(expr, seconds);
    } else if (call->function == "predict_linear" && call->arguments.size() == 2) {
      Add(call->arguments[1].get(), -seconds);
    }
  }

  bool HasPlainName(const Expr& expr, const SelectorExpr& selector) {
    const std::string name = NameOf(selector);
    if (name.empty()) {
      Refuse(expr, "requires a plain metric name");
      return false;
    }
    read_.emplace_back(name, Place(expr));
    return true;
  }

  void MakeCopy(Expr* expr, SelectorExpr* selector) {
    if (selector->window != lang::WindowSyntax::kNone &&
        selector->window != lang::WindowSyntax::kDuration)
      return;
    if (!HasPlainName(*expr, *selector)) return;
    OtherTimes::Copy copy;
    copy.metric = NameOf(*selector);
    copy.ahead = -selector->modifiers.offset->nanos;
    copy.name = Cat(copy.metric, " offset -", Length(copy.ahead));
    Rename(selector, copy.name);
    selector->modifiers.offset.reset();
    changed_ = true;
    const bool known = std::any_of(out_->copies.begin(), out_->copies.end(),
                                   [&](const auto& c) { return c.name == copy.name; });
    if (!known) out_->copies.push_back(std::move(copy));
  }

  std::optional<int64_t> TimeOf(const Expr& expr, const lang::AtModifier& at) {
    if (at.kind == lang::AtKind::kTimestamp) {
      if (!(std::fabs(at.seconds) < static_cast<double>(kMaxPosition) / 1e9)) return std::nullopt;
      return std::llround(at.seconds * 1e3) * 1'000'000;
    }
    const bool start = at.kind == lang::AtKind::kStart;
    const std::optional<int64_t> time = start ? start_ : end_;
    if (!time.has_value())
      Refuse(expr, start ? "with start() requires --start" : "with end() requires --end");
    return time;
  }

  // Returns the maximum age, relative to the evaluation time, of a sample that can affect `expr`.
  // Returns nullopt if the maximum age is unknown.
  std::optional<int64_t> ReachOf(const Expr& expr) const {
    int64_t reach = 0;
    if (const auto* selector = expr.As<SelectorExpr>()) {
      if (selector->window == lang::WindowSyntax::kDuration) reach = selector->range.nanos;
      if (selector->window == lang::WindowSyntax::kNone) reach = lookback_;
      if (reach == 0) return std::nullopt;
      if (selector->modifiers.offset) reach += selector->modifiers.offset->nanos;
    } else if (const auto* subquery = expr.As<SubqueryExpr>()) {
      reach = subquery->range.nanos + (subquery->step ? subquery->step->nanos : interval_);
      if (subquery->modifiers.offset) reach += subquery->modifiers.offset->nanos;
    }
    int64_t inner = 0;
    for (const Expr* child : lang::Children(expr)) {
      const auto of_child = ReachOf(*child);
      if (!of_child.has_value()) return std::nullopt;
      inner = std::max(inner, *of_child);
    }
    return reach + inner;
  }

  // Replaces `expr` with a selector for a generated series. `expr` is either `at_fixed` itself or
  // the function call that contains `at_fixed`.
  void MakeConstant(Expr* expr, Expr* at_fixed) {
    Modifiers* modifiers = ModifiersOf(*at_fixed);
    if (const auto* subquery = at_fixed->As<SubqueryExpr>();
        subquery != nullptr && LooksElsewhere(*subquery->expr))
      return;
    OtherTimes::Constant constant;
    bool ok = true;
    lang::Visit(*at_fixed, [&](const Expr& e) {
      const auto* selector = e.As<SelectorExpr>();
      if (selector == nullptr || !ok) return;
      auto matcher = plan::SelectorOf(*selector);
      ok = matcher.ok() && HasPlainName(e, *selector);
      if (ok) constant.selectors.push_back(*std::move(matcher));
    });
    if (!ok) return;
    const std::optional<int64_t> time = TimeOf(*expr, *modifiers->at);
    if (!time.has_value()) return;
    constant.at = *time - (modifiers->offset ? modifiers->offset->nanos : 0);
    const Modifiers before = std::exchange(*modifiers, Modifiers());
    const std::optional<int64_t> reach = ReachOf(*at_fixed);
    if (!reach.has_value() || *reach > kMaxPosition / 8) {
      *modifiers = before;
      return;
    }
    constant.expr = lang::Print(*expr);
    constant.reach = *reach;
    constant.lookback = lookback_;
    constant.subquery_interval = interval_;
    SelectorExpr replaced;
    if (expr == at_fixed) replaced.matchers = std::get<SelectorExpr>(expr->node).matchers;
    Rename(&replaced, KeepConstant(std::move(constant)));
    expr->node = std::move(replaced);
    expr->depth = 1;
    changed_ = true;
  }

  // Returns the name of the generated series that replaces the expression. Equal expressions share
  // a series.
  std::string KeepConstant(OtherTimes::Constant constant) {
    for (const OtherTimes::Constant& known : out_->constants) {
      if (known.expr == constant.expr && known.at == constant.at &&
          known.lookback == constant.lookback &&
          known.subquery_interval == constant.subquery_interval)
        return known.name;
    }
    constant.name = Cat(constant.expr, " @ ", FormatDouble(static_cast<double>(constant.at) / 1e9),
                        " #", out_->constants.size() + 1);
    out_->constants.push_back(constant);
    return constant.name;
  }

  const std::optional<int64_t> start_, end_;
  OtherTimes* const out_;
  const lang::Source* source_ = nullptr;
  int64_t interval_ = 0;
  int64_t lookback_ = 0;
  bool changed_ = false;
  Status status_;
  // Metrics that rules read at other times, with the positions of the expressions that read them.
  std::vector<std::pair<std::string, std::string>> read_;
};

// Calls visit(group, expression) for each rule expression on the time clock.
template <typename F>
void EachExpression(const std::vector<std::shared_ptr<lang::RuleFile>>& files, F&& visit) {
  for (const auto& file : files) {
    for (lang::GroupText& group : file->groups) {
      if (group.step_clock) continue;
      for (lang::RuleText& rule : group.rules) {
        if (rule.expr.expr != nullptr) visit(group, rule.expr);
        if (rule.clear.has_value() && rule.clear->expr != nullptr) visit(group, *rule.clear);
      }
    }
  }
}

}  // namespace

Status RewriteOtherTimes(const std::vector<std::shared_ptr<lang::RuleFile>>& files,
                         std::optional<int64_t> start, std::optional<int64_t> end,
                         int64_t default_interval, OtherTimes* out) {
  Rewriter rewriter(start, end, out);
  EachExpression(files, [&](const lang::GroupText& group, lang::ExprText& text) {
    rewriter.SetGroup(group.interval.value_or(default_interval),
                      group.lookback.value_or(plan::kDefaultLookback));
    rewriter.Rewrite(text.source, text.expr.get());
  });
  RETURN_IF_ERROR(rewriter.status());
  if (out->empty()) return OkStatus();
  // No other selector may match the generated series. Series recorded by the same rule files cannot
  // be read at other times.
  std::set<std::string> recorded;
  for (const auto& file : files) {
    for (const lang::GroupText& group : file->groups) {
      for (const lang::RuleText& rule : group.rules) {
        if (!rule.alert) recorded.insert(rule.name);
      }
    }
  }
  for (const auto& [metric, place] : rewriter.read()) {
    if (recorded.contains(metric) || metric == "ALERTS" || metric == "ALERTS_FOR_STATE") {
      return Unimplemented(Cat(place, ": error: @ and negative offsets are not supported on ",
                               metric, ", which these rules record"));
    }
  }
  EachExpression(files, [&](const lang::GroupText&, lang::ExprText& text) {
    lang::Visit(*text.expr, [&](const Expr& expr) {
      const auto* selector = expr.As<SelectorExpr>();
      if (selector == nullptr || !NameOf(*selector).empty()) return;
      rewriter.SetSource(text.source);
      rewriter.Refuse(expr,
                      "is not supported in a rule set with this selector, which does not have a "
                      "plain metric name");
    });
  });
  return rewriter.status();
}

}  // namespace pitwall::offline
