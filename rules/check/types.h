// PromQL's types of expressions.
#pragma once

#include <optional>
#include <string_view>

#include "rules/lang/ast.h"
#include "services/model/windows/function_table.h"

namespace pitwall::check {

using Type = ExprType;
std::string_view TypeName(Type type);  // as in Prometheus messages: "instant vector"

// The type of a well-formed expression; an instant vector for a call of an unknown function. Does
// not check operands (validators.h does).
Type TypeOf(const lang::Expr& expr);

// The value of an expression that contains only numbers (signs, parentheses, arithmetic, bool
// comparisons, pi()), as evaluation would compute it; nullopt if it contains anything else,
// including parameters.
std::optional<double> ConstantValue(const lang::Expr& expr);

}  // namespace pitwall::check
