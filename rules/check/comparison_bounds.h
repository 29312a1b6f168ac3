// Conditions that the comparisons in an expression impose on their operands. Private to this
// module.
#pragma once

#include <optional>

#include "rules/check/validators.h"
#include "rules/check/value_range.h"

namespace pitwall::check {

// Condition that a comparison with a number or parameter imposes on its other operand.
struct Bound {
  const lang::Expr* subject;
  ValueRange range;
};

// Conditions on the same subject that exclude each other.
struct Contradiction {
  Bound left;
  Bound right;
};

// Both functions require an operator that matches on all labels.

// Returns conditions, one from each side of `and`, that no element can satisfy together, or
// nullopt.
std::optional<Contradiction> FindContradiction(const ExprContext& context,
                                               const lang::BinaryExpr& binary);
// Returns true if the right side of `unless` holds wherever its left side does.
bool ExcludesAll(const ExprContext& context, const lang::BinaryExpr& binary);

}  // namespace pitwall::check
