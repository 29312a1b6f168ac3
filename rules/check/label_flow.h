// Analysis of the labels that the elements of a result can have. Labels are derived through
// aggregations, functions, and vector matching. The metric name is excluded. Private to this
// module.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "rules/check/validators.h"
#include "rules/lang/ast.h"

namespace pitwall::check {

struct LabelFlow {
  // If closed, elements can have only the labels in `names`. Otherwise, elements can have any label
  // except those in `names`.
  bool closed = false;
  std::set<std::string, std::less<>> names;
  // Labels that every element is known to have: labels in by(), and labels that the catalog lists
  // for the metric.
  std::set<std::string, std::less<>> sure;

  bool MayHave(std::string_view label) const { return closed == names.contains(label); }
  void Add(std::string_view label);
  void Remove(std::string_view label);
};

LabelFlow LabelsOf(const ExprContext& context, const lang::Expr& expr);

// Returns the reason why elements of the two sides can never match, or "" if they can.
std::string NeverMatches(const lang::BinaryExpr& binary, const LabelFlow& left,
                         const LabelFlow& right);

// Reports labels in by(), on(), and group_left() that no element can have.
void CheckLabels(const ExprContext& context, const lang::Expr& expr);

}  // namespace pitwall::check
