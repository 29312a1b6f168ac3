// PromQL functions with one numeric argument: mathematics, trigonometry, and dates.
#pragma once

#include <cstddef>

#include "rules/plan/program/function.h"

namespace pitwall::eval {

// Computes out[i] = function(in[i]). `a` and `b` are scalar arguments (the bounds of clamp(), the
// unit of round(), the tick of timestamp()). `in` and `out` may be the same array.
void ApplyFunction(plan::FunctionId function, double a, double b, const double* in, double* out,
                   size_t n);

}  // namespace pitwall::eval
