// Functions of one number: PromQL's math, trigonometry and dates.
#pragma once

#include <cstddef>

#include "rules/plan/program/function.h"

namespace pitwall::eval {

// out[i] = function(in[i]); `a` and `b` are the function's scalars (bounds of clamp(), unit of
// round(), the tick of timestamp()). `in` and `out` may be one array.
void ApplyFunction(plan::FunctionId function, double a, double b, const double* in, double* out,
                   size_t n);

}  // namespace pitwall::eval
