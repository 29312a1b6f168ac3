// PromQL's types of expressions.
#pragma once

#include <optional>
#include <string_view>

#include "rules/lang/ast.h"
#include "services/model/windows/function_table.h"

namespace pitwall::check {

using Type = ExprType;
std::string_view TypeName(Type type);  // as Prometheus' messages say it: "instant vector"

// The type of a well-formed expression; of a call of an unknown function: an instant vector. Does
// not look whether operands fit (validators.h does).
Type TypeOf(const lang::Expr& expr);

// The value of an expression made of numbers only (signs, parentheses, arithmetic, bool
// comparisons, pi()), as the evaluation would compute it; nothing when it holds anything else,
// parameters included.
std::optional<double> ConstantValue(const lang::Expr& expr);

}  // namespace pitwall::check
