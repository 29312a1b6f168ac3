// Planning of the demands of an expression on the store: selectors, windows, and subqueries.
#include <algorithm>
#include <tuple>
#include <utility>

#include "rules/check/types.h"
#include "rules/lang/printer.h"
#include "rules/plan/planner/expression_planner.h"
#include "rules/plan/planner/selector_of.h"
#include "rules/plan/program/function.h"
#include "services/base/check.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

using lang::Expr;
using lang::SelectorExpr;

Selector MakeSelector(const SelectorExpr& expr) {
  StatusOr<Selector> out = SelectorOf(expr);
  PITWALL_CHECK(out.ok());  // rules/check has already compiled the patterns
  return *std::move(out);
}

// Renders the selector with sorted matchers, so that their order in the file does not matter.
std::string SelectorText(const SelectorExpr& expr) {
  lang::Expr copy;
  SelectorExpr selector = expr;
  std::sort(selector.matchers.begin(), selector.matchers.end(),
            [](const lang::LabelMatcher& a, const lang::LabelMatcher& b) {
              return std::tie(a.label, a.op, a.value) < std::tie(b.label, b.op, b.value);
            });
  copy.node = std::move(selector);
  return lang::Print(copy);
}

}  // namespace

Demand ExpressionPlanner::MakeDemand(WindowFunction function,
                                     const lang::Modifiers& modifiers) const {
  Demand demand;
  demand.function = function;
  demand.interval = interval_;
  demand.align_job = align_job_;
  demand.offset = modifiers.offset ? modifiers.offset->nanos : 0;
  return demand;
}

Demand ExpressionPlanner::MakeDemand(const SelectorExpr& selector, WindowFunction function) const {
  Demand demand = MakeDemand(function, selector.modifiers);
  switch (selector.window) {
    case lang::WindowSyntax::kNone:
      demand.kind = WindowKind::kInstant;
      demand.lookback = group_.lookback;
      break;
    case lang::WindowSyntax::kDuration:
      demand.kind = WindowKind::kTime;
      demand.range = selector.range.nanos;
      break;
    case lang::WindowSyntax::kSamples:
      demand.kind = WindowKind::kSamples;
      demand.range = selector.samples;
      demand.lookback = group_.lookback;
      break;
    case lang::WindowSyntax::kAttempt:
      demand.kind = WindowKind::kAttempt;
      break;
    case lang::WindowSyntax::kFirst:
      demand.kind = WindowKind::kFirst;
      demand.range = selector.samples;
      demand.skip = selector.skipped;
      break;
  }
  // Samples stay valid for as long as in an instant selector.
  if (function == WindowFunction::kShare) demand.lookback = group_.lookback;
  return demand;
}

NodeId ExpressionPlanner::PlanSelector(const SelectorExpr& selector, WindowFunction function,
                                       bool keep_name) {
  Node node;
  node.kind = NodeKind::kDemand;
  node.type = ValueType::kVector;
  node.keep_name = keep_name;
  node.demand = domain_->AddDemand(MakeSelector(selector), MakeDemand(selector, function));
  node.text = SelectorText(selector);
  if (function == WindowFunction::kTimestamp) node.text = Cat("timestamp(", node.text, ")");
  return domain_->AddNode(std::move(node));
}

Node ExpressionPlanner::WindowOver(const Expr& matrix, WindowFunction function,
                                   std::string arguments, std::string* text) {
  Node node;
  node.kind = NodeKind::kDemand;
  node.type = ValueType::kVector;
  const Expr& expr = lang::Unwrap(matrix);
  if (const auto* selector = expr.As<SelectorExpr>()) {
    Demand demand = MakeDemand(*selector, function);
    demand.arguments = std::move(arguments);
    node.demand = domain_->AddDemand(MakeSelector(*selector), std::move(demand));
    if (text != nullptr) *text = SelectorText(*selector);
    return node;
  }
  const auto* subquery = expr.As<lang::SubqueryExpr>();
  PITWALL_CHECK(subquery != nullptr);  // rules/check allows no other range vector
  const int64_t step = subquery->step ? subquery->step->nanos : group_.subquery_step;
  const int64_t outer_interval = std::exchange(interval_, step);
  const bool outer_align = std::exchange(align_job_, false);
  const NodeId inner = Plan(*subquery->expr);
  interval_ = outer_interval;
  align_job_ = outer_align;
  Demand demand = MakeDemand(function, subquery->modifiers);
  demand.kind = WindowKind::kTime;
  demand.range = subquery->range.nanos;
  // A result is valid until the next result.
  if (function == WindowFunction::kShare) demand.lookback = step;
  demand.arguments = std::move(arguments);
  const uint32_t index = domain_->AddSubquery(inner, step);
  node.source = index + 1;
  if (text != nullptr) {
    *text = Cat(Operand(inner), "[", FormatDuration(demand.range), ":", FormatDuration(step), "]");
    if (demand.offset > 0) CatTo(*text, " offset ", FormatDuration(demand.offset));
  }
  node.demand = domain_->AddWindow(index, std::move(demand));
  return node;
}

NodeId ExpressionPlanner::PlanWindow(const lang::CallExpr& call, const FunctionRow& function) {
  std::vector<NodeId> inputs;
  std::vector<std::string> texts, scalars;
  const Expr* matrix = nullptr;
  size_t matrix_at = 0;
  for (const lang::ExprPtr& argument : call.arguments) {
    if (check::TypeOf(*argument) == check::Type::kMatrix) {
      matrix = argument.get();
      matrix_at = texts.size();
      texts.emplace_back();
      continue;
    }
    inputs.push_back(Plan(*argument));
    scalars.push_back(Text(inputs.back()));
    texts.push_back(scalars.back());
  }
  Node node = WindowOver(*matrix, *function.window, Join(scalars, ","), &texts[matrix_at]);
  node.keep_name = function.keeps_name;
  node.inputs = std::move(inputs);
  node.text = Cat(call.function, "(", Join(texts, ", "), ")");
  return domain_->AddNode(std::move(node));
}

// Plans slope * t + intercept at the tick.
NodeId ExpressionPlanner::PlanPrediction(const lang::CallExpr& call) {
  std::string matrix;
  const auto line = [&](WindowFunction function, std::string_view name) {
    Node node = WindowOver(*call.arguments[0], function, "", &matrix);
    node.text = Cat(name, "(", matrix, ")");
    return domain_->AddNode(std::move(node));
  };
  const NodeId ahead = Plan(*call.arguments[1]);
  Node rise;
  rise.kind = NodeKind::kBinary;
  rise.type = ValueType::kVector;
  rise.binary = BinaryOp::kMul;
  rise.inputs = {line(WindowFunction::kDeriv, "deriv"), ahead};
  rise.text = Cat(Text(rise.inputs[0]), " * ", Operand(ahead));
  Node sum;
  sum.kind = NodeKind::kBinary;
  sum.type = ValueType::kVector;
  sum.inputs = {domain_->AddNode(std::move(rise)), line(WindowFunction::kIntercept, "intercept")};
  sum.text = Cat("predict_linear(", matrix, ", ", Text(ahead), ")");
  return domain_->AddNode(std::move(sum));
}

// Plans (value - median) / scale, the score of the newest value against the window's median and
// MAD.
NodeId ExpressionPlanner::PlanBaselineScore(const lang::CallExpr& call) {
  const Expr& window = lang::Unwrap(*call.arguments[0]);
  std::string matrix;
  const auto over = [&](WindowFunction function, std::string_view name) {
    Node node;
    if (function == WindowFunction::kQuantile) {
      const NodeId half = Number(0.5);
      node = WindowOver(window, function, Text(half), &matrix);
      node.inputs = {half};
      node.text = Cat(name, "(0.5, ", matrix, ")");
    } else {
      node = WindowOver(window, function, "", &matrix);
      node.text = Cat(name, "(", matrix, ")");
    }
    return domain_->AddNode(std::move(node));
  };
  Node score;
  score.kind = NodeKind::kFunction;
  score.type = ValueType::kVector;
  score.function = static_cast<uint32_t>(FunctionId::kBaselineScore);
  std::string value;
  if (call.arguments.size() > 1) {
    score.inputs = {Plan(*call.arguments[1])};
    value = Cat(", ", Text(score.inputs[0]));
  } else if (const auto* selector = window.As<SelectorExpr>()) {
    SelectorExpr newest = *selector;
    newest.window = lang::WindowSyntax::kNone;
    score.inputs = {PlanSelector(newest, WindowFunction::kLast, /*keep_name=*/true)};
  } else {
    score.inputs = {over(WindowFunction::kLastOverTime, "last_over_time")};
  }
  score.inputs.push_back(over(WindowFunction::kQuantile, "quantile_over_time"));
  score.inputs.push_back(over(WindowFunction::kMad, "mad_over_time"));
  score.text = Cat("baseline_zscore(", matrix, value, ")");
  return domain_->AddNode(std::move(score));
}

uint32_t ExpressionPlanner::PlanNeed(std::string_view metric) {
  SelectorExpr selector;
  selector.name = metric;
  return domain_->AddDemand(MakeSelector(selector), MakeDemand(selector, WindowFunction::kLast));
}

}  // namespace pitwall::plan
