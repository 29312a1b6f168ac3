// `@` and negative offsets, where all samples are there already: at one tick a fixed time is an
// offset from it, and the future is the past of a later tick. A live rule has neither.
#pragma once

#include <cstdint>

#include "rules/lang/ast.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Whether the expression has an `@` or a negative offset anywhere.
bool LooksElsewhere(const lang::Expr& expr);

// Rewrites `expr` so that without either it gives at tick `at` + the result what it means at `at`.
// `start` and `end` are what @ start() and @ end() are. Unimplemented where that cannot be said:
// inside of subqueries, whose steps are at absolute times.
StatusOr<int64_t> FoldTimes(int64_t at, int64_t start, int64_t end, lang::Expr* expr);

}  // namespace pitwall::offline
