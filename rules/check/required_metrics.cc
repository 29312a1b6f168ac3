// Metrics that an expression requires. They are the default for a rule's `needs`. A series is not
// required if the expression may have a result without it (absent(), or, unless, scalar()).
#include <algorithm>
#include <iterator>

#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

using Names = std::vector<std::string>;  // sorted and unique
using lang::Expr;

// Returns true for series that the engine emits for alerts and sources only while an issue exists.
// Attempt metrics are excluded, because they exist for every attempt.
bool ExistsOnlyForIssues(std::string_view name) {
  return name == "ALERTS" || name == "ALERTS_FOR_STATE" ||
         (StartsWith(name, "pitwall_") && !StartsWith(name, "pitwall_job_attempt"));
}

Names Union(const Names& a, const Names& b) {
  Names out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}
Names Intersection(const Names& a, const Names& b) {
  Names out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

Names RequiredMetrics(const Expr& expr) {
  if (const auto* selector = expr.As<lang::SelectorExpr>()) {
    const std::string_view name = MetricNameOf(*selector);
    if (name.empty() || ExistsOnlyForIssues(name)) return {};
    return {std::string(name)};
  }
  if (const auto* binary = expr.As<lang::BinaryExpr>()) {
    Names left = RequiredMetrics(*binary->left);
    if (binary->op == BinaryOp::kUnless) return left;
    const Names right = RequiredMetrics(*binary->right);
    if (binary->op == BinaryOp::kOr) return Intersection(left, right);
    if (binary->matching.fill_left || binary->matching.fill_right) return Intersection(left, right);
    return Union(left, right);
  }
  if (const auto* call = expr.As<lang::CallExpr>()) {
    if (call->function == "absent" || call->function == "absent_over_time" ||
        call->function == "scalar" || call->function == "vector") {
      return {};
    }
    Names out;
    for (const lang::ExprPtr& argument : call->arguments)
      out = Union(out, RequiredMetrics(*argument));
    return out;
  }
  Names out;
  for (const Expr* child : lang::Children(expr)) out = Union(out, RequiredMetrics(*child));
  return out;
}

}  // namespace pitwall::check
