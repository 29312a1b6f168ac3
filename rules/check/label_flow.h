// Possible labels of the elements of a result, followed through aggregations, functions and
// vector matching. The metric's name is left out of it. Private to this module.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "rules/check/validators.h"
#include "rules/lang/ast.h"

namespace pitwall::check {

struct LabelFlow {
  // Closed: at most `names`. Open: any but `names`.
  bool closed = false;
  std::set<std::string, std::less<>> names;
  // Which every element has, as far as anybody can tell: what by() lists, and what the catalogue
  // says of a metric.
  std::set<std::string, std::less<>> sure;

  bool MayHave(std::string_view label) const { return closed == names.contains(label); }
  void Add(std::string_view label);
  void Remove(std::string_view label);
};

LabelFlow LabelsOf(const ExprContext& context, const lang::Expr& expr);

// Why elements of the two sides can never match, or "".
std::string NeverMatches(const lang::BinaryExpr& binary, const LabelFlow& left,
                         const LabelFlow& right);

// Labels that are asked for where nothing can have them any more: in by(), on(), group_left().
void CheckLabels(const ExprContext& context, const lang::Expr& expr);

}  // namespace pitwall::check
