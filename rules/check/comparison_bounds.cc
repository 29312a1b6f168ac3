#include "rules/check/comparison_bounds.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rules/check/types.h"

namespace pitwall::check {
namespace {

using lang::BinaryExpr;
using lang::Expr;

constexpr size_t kMaxBounds = 32;

BinaryOp Mirrored(BinaryOp op) {
  switch (op) {
    case BinaryOp::kGt:
      return BinaryOp::kLt;
    case BinaryOp::kGe:
      return BinaryOp::kLe;
    case BinaryOp::kLt:
      return BinaryOp::kGt;
    case BinaryOp::kLe:
      return BinaryOp::kGe;
    default:
      return op;
  }
}

// Returns the value of a number or parameter expression.
std::optional<double> NumberOf(const ExprContext& context, const Expr& root) {
  const Expr& expr = lang::Unwrap(root);
  if (const std::optional<double> constant = ConstantValue(expr)) {
    return std::isnan(*constant) ? std::nullopt : constant;
  }
  const auto* parameter = expr.As<lang::ParameterExpr>();
  if (parameter == nullptr) return std::nullopt;
  for (const lang::ParameterText& known : context.rule.parameters) {
    if (known.name == parameter->name && std::isfinite(known.value)) return known.value;
  }
  return std::nullopt;
}

// Appends the conditions that every element of the expression satisfies.
void AddBounds(const ExprContext& context, const Expr& root, std::vector<Bound>* out) {
  const Expr& expr = lang::Unwrap(root);
  const auto* binary = expr.As<BinaryExpr>();
  if (binary == nullptr || out->size() >= kMaxBounds) return;
  if (binary->op == BinaryOp::kAnd || binary->op == BinaryOp::kUnless) {
    AddBounds(context, *binary->left, out);
    const bool default_matching = !binary->matching.on && binary->matching.labels.empty();
    if (binary->op == BinaryOp::kAnd && default_matching) AddBounds(context, *binary->right, out);
    return;
  }
  if (!IsComparison(binary->op) || binary->return_bool || binary->op == BinaryOp::kNe) return;
  const std::optional<double> right = NumberOf(context, *binary->right);
  const std::optional<double> left = NumberOf(context, *binary->left);
  if (right && !left) {
    out->push_back({&lang::Unwrap(*binary->left), Allowed(binary->op, ValueRange::Point(*right))});
    AddBounds(context, *binary->left, out);
  } else if (left && !right) {
    out->push_back(
        {&lang::Unwrap(*binary->right), Allowed(Mirrored(binary->op), ValueRange::Point(*left))});
    AddBounds(context, *binary->right, out);
  }
}

std::vector<Bound> BoundsOf(const ExprContext& context, const Expr& expr) {
  std::vector<Bound> out;
  AddBounds(context, expr, &out);
  return out;
}

// Returns true if each selector specifies a metric name. Only then do two equal expressions refer
// to the same series, because matching ignores metric names.
bool NamesMetrics(const Expr& root) {
  bool named = true;
  lang::Visit(root, [&](const Expr& expr) {
    const auto* selector = expr.As<lang::SelectorExpr>();
    named = named && (selector == nullptr || !MetricNameOf(*selector).empty());
  });
  return named;
}

}  // namespace

std::optional<Contradiction> FindContradiction(const ExprContext& context,
                                               const BinaryExpr& binary) {
  const std::vector<Bound> left = BoundsOf(context, *binary.left);
  const std::vector<Bound> right = BoundsOf(context, *binary.right);
  for (const Bound& a : left) {
    for (const Bound& b : right) {
      if (IsEmpty(Intersect(a.range, b.range)) && lang::Equal(*a.subject, *b.subject) &&
          NamesMetrics(*a.subject))
        return Contradiction{a, b};
    }
  }
  return std::nullopt;
}

bool ExcludesAll(const ExprContext& context, const BinaryExpr& binary) {
  if (!NamesMetrics(*binary.left)) return false;
  if (lang::Equal(lang::Unwrap(*binary.left), lang::Unwrap(*binary.right))) return true;
  // The right side must be exactly this comparison. Any other expression may impose further
  // conditions.
  const std::vector<Bound> left = BoundsOf(context, *binary.left);
  const std::vector<Bound> right = BoundsOf(context, *binary.right);
  if (right.size() != 1 || !lang::Unwrap(*right[0].subject).As<lang::SelectorExpr>()) return false;
  return std::any_of(left.begin(), left.end(), [&](const Bound& bound) {
    return Contains(right[0].range, bound.range) && lang::Equal(*bound.subject, *right[0].subject);
  });
}

}  // namespace pitwall::check
