// PromQL functions of one number: mathematics, trigonometry, and dates.
#pragma once

#include <cstddef>

#include "rules/plan/program/function.h"

namespace pitwall::eval {

// out[i] = function(in[i]). `a` and `b` are scalar arguments (bounds of clamp(), unit of round(),
// the tick of timestamp()). `in` and `out` may be the same array.
void ApplyFunction(plan::FunctionId function, double a, double b, const double* in, double* out,
                   size_t n);

}  // namespace pitwall::eval
