// PromQL's types, and the functions that it knows.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rules/lang/ast.h"

namespace pitwall::check {

enum class Type { kScalar, kVector, kMatrix, kString };
std::string_view TypeName(Type type);  // as Prometheus' messages say it: "instant vector"

struct FunctionInfo {
  std::string_view name;
  std::vector<Type> arguments;
  int variadic = 0;  // 0: exactly these; n: the last one may be left out or come n times; -1: any
                     // number of times
  Type result = Type::kVector;
  bool supported = false;  // evaluated already
};

// All of Prometheus 3's functions, experimental ones included, and ours (docs/functions.md);
// nullptr when unknown.
const FunctionInfo* FindFunction(std::string_view name);
std::span<const FunctionInfo> AllFunctions();

// Whether a function of range vectors needs every sample of its window: partials do not serve it.
bool NeedsEverySample(std::string_view function);

// The type of a well-formed expression; of a call of an unknown function: an instant vector. Does
// not look whether operands fit (validators.h does).
Type TypeOf(const lang::Expr& expr);

// The value of an expression made of numbers only (signs, parentheses, arithmetic, bool
// comparisons, pi()), as the evaluation would compute it; nothing when it holds anything else,
// parameters included.
std::optional<double> ConstantValue(const lang::Expr& expr);

}  // namespace pitwall::check
