// Types of PromQL expressions.
#pragma once

#include <optional>
#include <string_view>

#include "rules/lang/ast.h"
#include "services/model/windows/function_table.h"

namespace pitwall::check {

using Type = ExprType;
std::string_view TypeName(Type type);  // as in Prometheus messages, such as "instant vector"

// Returns the type of a well-formed expression. A call to an unknown function has the type instant
// vector. Operands are not checked here but by the functions in validators.h.
Type TypeOf(const lang::Expr& expr);

// Returns the value of an expression that contains only numbers (signs, parentheses, arithmetic,
// bool comparisons, pi()), as evaluation would compute it. Returns nullopt if it contains anything
// else, including parameters.
std::optional<double> ConstantValue(const lang::Expr& expr);

}  // namespace pitwall::check
