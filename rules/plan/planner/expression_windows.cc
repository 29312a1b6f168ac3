// Planning of functions over range vectors.
#include <utility>

#include "rules/check/types.h"
#include "rules/plan/planner/expression_planner.h"
#include "rules/plan/program/function.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {

using lang::Expr;
using lang::SelectorExpr;

Node ExpressionPlanner::WindowOver(const Expr& matrix, WindowFunction function,
                                   std::string arguments, std::string* text) {
  const Expr& expr = lang::Unwrap(matrix);
  if (const auto* selector = expr.As<SelectorExpr>())
    return demands_.WindowOver(*selector, function, std::move(arguments), text);
  const auto* subquery = expr.As<lang::SubqueryExpr>();
  PITWALL_CHECK(subquery != nullptr);  // rules/check allows no other range vector
  const DemandPlanner::Times outer = demands_.Enter(*subquery);
  const NodeId inner = Plan(*subquery->expr);
  demands_.Leave(outer);
  return demands_.WindowOver(*subquery, inner, function, std::move(arguments), text);
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
  std::get<DemandColumn>(node.operation).keep_name = function.keeps_name;
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
  rise.type = ValueType::kVector;
  rise.operation = BinaryOperation{.op = BinaryOp::kMul};
  rise.inputs = {line(WindowFunction::kDeriv, "deriv"), ahead};
  rise.text = Cat(Text(rise.inputs[0]), " * ", domain_->OperandText(ahead));
  Node sum;
  sum.type = ValueType::kVector;
  sum.operation = BinaryOperation{.op = BinaryOp::kAdd};
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
      const NodeId half = PlanNumber(0.5);
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
  score.type = ValueType::kVector;
  score.operation = FunctionCall{.function = FunctionId::kBaselineScore};
  std::string value;
  if (call.arguments.size() > 1) {
    score.inputs = {Plan(*call.arguments[1])};
    value = Cat(", ", Text(score.inputs[0]));
  } else if (const auto* selector = window.As<SelectorExpr>()) {
    SelectorExpr newest = *selector;
    newest.window = lang::WindowSyntax::kNone;
    score.inputs = {demands_.PlanSelector(newest, WindowFunction::kLast, /*keep_name=*/true)};
  } else {
    score.inputs = {over(WindowFunction::kLastOverTime, "last_over_time")};
  }
  score.inputs.push_back(over(WindowFunction::kQuantile, "quantile_over_time"));
  score.inputs.push_back(over(WindowFunction::kMad, "mad_over_time"));
  score.text = Cat("baseline_zscore(", matrix, value, ")");
  return domain_->AddNode(std::move(score));
}

}  // namespace pitwall::plan
