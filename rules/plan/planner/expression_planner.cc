#include "rules/plan/planner/expression_planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "rules/check/types.h"
#include "rules/lang/printer.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

using lang::Expr;
using lang::ExprKind;
using lang::SelectorExpr;

constexpr size_t kMaxEvidence = 8;

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string LabelList(const std::vector<std::string>& labels) {
  std::vector<std::string> parts;
  for (const std::string& label : labels) parts.push_back(lang::PrintLabelName(label));
  return Cat("(", Join(parts, ", "), ")");
}

Matching ToPlan(const lang::VectorMatching& matching) {
  Matching out;
  out.on = matching.on;
  out.labels = Sorted(matching.labels);
  out.include = Sorted(matching.include);
  if (matching.group == lang::GroupSide::kLeft) out.cardinality = Cardinality::kManyToOne;
  if (matching.group == lang::GroupSide::kRight) out.cardinality = Cardinality::kOneToMany;
  return out;
}

std::string MatchingText(const Matching& matching) {
  std::string out;
  const bool grouped = matching.cardinality != Cardinality::kOneToOne;
  if (matching.on || !matching.labels.empty() || grouped) {
    CatTo(out, matching.on ? " on " : " ignoring ", LabelList(matching.labels));
  }
  if (grouped) {
    CatTo(out, matching.cardinality == Cardinality::kManyToOne ? " group_left " : " group_right ",
          LabelList(matching.include));
  }
  return out;
}

// Returns the labels that absent() derives from its argument, as in Prometheus: an equality matcher
// sets its label, and any other matcher on that label removes it.
std::vector<std::string> AbsentLabels(const Expr& argument) {
  const auto* selector = lang::Unwrap(argument).As<SelectorExpr>();
  std::map<std::string, std::string> labels;
  std::set<std::string> seen;
  if (selector == nullptr) return {};
  for (const lang::LabelMatcher& matcher : selector->matchers) {
    if (matcher.label == kMetricName) continue;
    if (matcher.op == MatchOp::kEqual && seen.insert(matcher.label).second) {
      labels[matcher.label] = matcher.value;
    } else {
      labels.erase(matcher.label);
    }
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : labels) {
    if (!value.empty()) out.push_back(Cat(name, "=", value));
  }
  return out;
}

// Returns true for sort() and similar functions, which only order the output of a query. A rule's
// result has no order.
bool OnlyOrders(std::string_view function) {
  return function == "sort" || function == "sort_desc" || function == "sort_by_label" ||
         function == "sort_by_label_desc";
}

}  // namespace

NodeId ExpressionPlanner::PlanNumber(double value) {
  return domain_->AddNode(
      {.type = ValueType::kScalar, .operation = Number{value}, .text = FormatDouble(value)});
}

NodeId ExpressionPlanner::PlanBinary(const lang::BinaryExpr& binary) {
  Node node;
  node.inputs = {Plan(*binary.left), Plan(*binary.right)};
  const bool scalars = domain_->node(node.inputs[0]).type == ValueType::kScalar &&
                       domain_->node(node.inputs[1]).type == ValueType::kScalar;
  const bool vectors = domain_->node(node.inputs[0]).type == ValueType::kVector &&
                       domain_->node(node.inputs[1]).type == ValueType::kVector;
  node.type = scalars ? ValueType::kScalar : ValueType::kVector;
  Matching matching;
  if (vectors) matching = ToPlan(binary.matching);
  node.text = Cat(domain_->OperandText(node.inputs[0]), " ", lang::OpText(binary.op),
                  binary.return_bool ? " bool" : "", MatchingText(matching), " ",
                  domain_->OperandText(node.inputs[1]));
  if (IsSetOp(binary.op)) {
    const SetOp op = binary.op == BinaryOp::kAnd  ? SetOp::kAnd
                     : binary.op == BinaryOp::kOr ? SetOp::kOr
                                                  : SetOp::kUnless;
    node.operation = SetOperation{op, std::move(matching)};
  } else {
    node.operation = BinaryOperation{binary.op, binary.return_bool, std::move(matching)};
  }
  return domain_->AddNode(std::move(node));
}

NodeId ExpressionPlanner::PlanAggregate(const lang::AggregateExpr& aggregate) {
  Aggregation operation;
  operation.op = aggregate.op;
  operation.without = aggregate.grouping == lang::Grouping::kWithout;
  operation.grouping = Sorted(aggregate.labels);
  Node node;
  node.type = ValueType::kVector;
  node.inputs = {Plan(*aggregate.expr)};
  std::string arguments = Text(node.inputs[0]);
  if (aggregate.parameter != nullptr) {
    if (const auto* text = lang::Unwrap(*aggregate.parameter).As<lang::StringExpr>()) {
      operation.value_label = text->value;
      arguments = Cat(lang::PrintString(text->value), ", ", arguments);
    } else {
      node.inputs.push_back(Plan(*aggregate.parameter));
      arguments = Cat(Text(node.inputs[1]), ", ", arguments);
    }
  }
  node.text = std::string(lang::OpText(aggregate.op));
  if (operation.without || !operation.grouping.empty()) {
    CatTo(node.text, operation.without ? " without " : " by ", LabelList(operation.grouping), " ");
  }
  CatTo(node.text, "(", arguments, ")");
  node.operation = std::move(operation);
  return domain_->AddNode(std::move(node));
}

NodeId ExpressionPlanner::PlanCall(const lang::CallExpr& call) {
  if (call.function == "time") return PlanTime();
  const FunctionRow* function = FindFunction(call.function);
  PITWALL_CHECK(function != nullptr);  // rules/check rejects unknown functions
  if (function->window.has_value()) return PlanWindow(call, *function);
  if (call.function == "predict_linear") return PlanPrediction(call);
  if (call.function == "baseline_zscore") return PlanBaselineScore(call);
  if (call.function == "timestamp") {
    if (const auto* selector = lang::Unwrap(*call.arguments[0]).As<SelectorExpr>()) {
      return demands_.PlanSelector(*selector, WindowFunction::kTimestamp, /*keep_name=*/false);
    }
  }
  if (OnlyOrders(call.function)) return Plan(*call.arguments[0]);
  if (call.function == "absent_over_time") {
    std::string matrix;
    Node node = WindowOver(*call.arguments[0], WindowFunction::kPresent, "", &matrix);
    node.text = std::move(matrix);
    return PlanAbsent(domain_->AddNode(std::move(node)), *call.arguments[0], call.function);
  }
  if (call.function == "absent") {
    return PlanAbsent(Plan(*call.arguments[0]), *call.arguments[0], call.function);
  }
  // rules/check rejects unsupported functions, and a test plans all supported ones.
  PITWALL_CHECK(function->element.has_value());
  FunctionCall operation{.function = *function->element};
  Node node;
  node.type = function->result == ExprType::kScalar ? ValueType::kScalar : ValueType::kVector;
  std::vector<std::string> texts;
  for (const lang::ExprPtr& argument : call.arguments) {
    if (const auto* text = lang::Unwrap(*argument).As<lang::StringExpr>()) {
      operation.strings.push_back(text->value);
      texts.push_back(lang::PrintString(text->value));
      continue;
    }
    node.inputs.push_back(Plan(*argument));
    texts.push_back(Text(node.inputs.back()));
  }
  if (call.arguments.empty()) node.inputs.push_back(AsVector(PlanTime()));  // hour(), year(), …
  node.operation = std::move(operation);
  node.text = Cat(call.function, "(", Join(texts, ", "), ")");
  return domain_->AddNode(std::move(node));
}

NodeId ExpressionPlanner::PlanAbsent(NodeId input, const Expr& argument, std::string_view name) {
  Node node;
  node.type = ValueType::kVector;
  node.inputs = {input};
  node.operation =
      FunctionCall{.function = FunctionId::kAbsent, .absent_labels = AbsentLabels(argument)};
  node.text = Cat(name, "(", Text(input), ")");
  return domain_->AddNode(std::move(node));
}

NodeId ExpressionPlanner::PlanTime() {
  return domain_->AddNode(
      {.type = ValueType::kScalar, .operation = EvaluationTime(), .text = "time()"});
}

NodeId ExpressionPlanner::Plan(const Expr& expr) {
  if (const std::optional<double> constant = check::ConstantValue(expr))
    return PlanNumber(*constant);
  switch (expr.kind()) {
    case ExprKind::kParen:
      return Plan(*expr.As<lang::ParenExpr>()->expr);
    case ExprKind::kParameter: {
      const std::string& name = expr.As<lang::ParameterExpr>()->name;
      const auto& parameters = rule_.text->parameters;
      const auto found = std::find_if(
          parameters.begin(), parameters.end(),
          [&](const lang::ParameterText& parameter) { return parameter.name == name; });
      PITWALL_CHECK(found != parameters.end());
      const uint32_t index = first_parameter_ + static_cast<uint32_t>(found - parameters.begin());
      return domain_->AddNode(
          {.type = ValueType::kScalar, .operation = ParameterValue{index}, .text = Cat("$", name)});
    }
    case ExprKind::kSelector:
      return demands_.PlanSelector(*expr.As<SelectorExpr>(), WindowFunction::kLast,
                                   /*keep_name=*/true);
    case ExprKind::kUnary: {
      const auto* unary = expr.As<lang::UnaryExpr>();
      if (!unary->negative) return Plan(*unary->expr);
      Node node;
      node.inputs = {Plan(*unary->expr)};
      node.operation = Negation();
      node.type = domain_->node(node.inputs[0]).type;
      node.text = Cat("-", domain_->OperandText(node.inputs[0]));
      return domain_->AddNode(std::move(node));
    }
    case ExprKind::kBinary:
      return PlanBinary(*expr.As<lang::BinaryExpr>());
    case ExprKind::kAggregate:
      return PlanAggregate(*expr.As<lang::AggregateExpr>());
    case ExprKind::kCall:
      return PlanCall(*expr.As<lang::CallExpr>());
    case ExprKind::kNumber:
    case ExprKind::kString:
    case ExprKind::kSubquery:
      break;
  }
  PITWALL_CHECK(false);  // numbers are constants, and rules/check rejects the other types
  return kNoNode;
}

NodeId ExpressionPlanner::AsVector(NodeId scalar) {
  Node node;
  node.type = ValueType::kVector;
  node.inputs = {scalar};
  node.operation = FunctionCall{.function = FunctionId::kVector};
  node.text = Cat("vector(", Text(scalar), ")");
  return domain_->AddNode(std::move(node));
}

NodeId ExpressionPlanner::PlanResult(const Expr& expr) {
  const NodeId id = Plan(expr);
  return domain_->node(id).type == ValueType::kVector ? id : AsVector(id);
}

Comparison ExpressionPlanner::PlanComparison(const Expr& root) {
  Comparison out;
  AddEvidence(root, &out.evidence);
  const Expr* expr = &lang::Unwrap(root);
  const auto* binary = expr->As<lang::BinaryExpr>();
  while (binary != nullptr && (binary->op == BinaryOp::kAnd || binary->op == BinaryOp::kUnless)) {
    expr = &lang::Unwrap(*binary->left);
    binary = expr->As<lang::BinaryExpr>();
  }
  if (binary == nullptr || !IsComparison(binary->op)) return out;
  NodeId left = Plan(*binary->left);
  NodeId right = Plan(*binary->right);
  // Plans 5 < x as x > 5.
  const bool swapped = domain_->node(left).type == ValueType::kScalar;
  if (swapped) std::swap(left, right);
  if (domain_->node(left).type != ValueType::kVector) return out;
  out.subject = left;
  const bool less = binary->op == BinaryOp::kLt || binary->op == BinaryOp::kLe;
  const bool greater = binary->op == BinaryOp::kGt || binary->op == BinaryOp::kGe;
  out.least_is_worst = swapped ? greater : less;
  if (domain_->node(right).type == ValueType::kScalar) out.threshold = right;
  return out;
}

// Adds the vectors that the rule compares, and their inputs.
void ExpressionPlanner::AddEvidence(const Expr& root, std::vector<NodeId>* evidence) {
  const Expr& expr = lang::Unwrap(root);
  const auto* binary = expr.As<lang::BinaryExpr>();
  if (binary == nullptr) return;
  const auto add = [&](const Expr& operand) {
    if (check::TypeOf(operand) != check::Type::kVector || evidence->size() >= kMaxEvidence) return;
    const NodeId id = Plan(operand);
    if (std::find(evidence->begin(), evidence->end(), id) == evidence->end())
      evidence->push_back(id);
  };
  if (IsSetOp(binary->op)) {
    AddEvidence(*binary->left, evidence);
    AddEvidence(*binary->right, evidence);
    return;
  }
  if (!IsComparison(binary->op)) return;
  for (const lang::ExprPtr* side : {&binary->left, &binary->right}) add(**side);
  for (const lang::ExprPtr* side : {&binary->left, &binary->right}) {
    const auto* inner = lang::Unwrap(**side).As<lang::BinaryExpr>();
    if (inner == nullptr) continue;
    if (IsComparison(inner->op)) {
      AddEvidence(**side, evidence);
    } else if (!IsSetOp(inner->op)) {
      add(*inner->left);
      add(*inner->right);
    }
  }
}

}  // namespace pitwall::plan
