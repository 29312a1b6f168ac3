// Rewriting of `@` and negative offsets for queries over stored samples: at one tick, a fixed time
// is an offset from it, and the future is the past of a later tick. A live rule has neither.
#pragma once

#include <cstdint>

#include "rules/lang/ast.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Whether the expression contains an `@` or a negative offset.
bool LooksElsewhere(const lang::Expr& expr);

// Rewrites `expr` without either, so that at tick `at` + the returned shift it has the value that
// the original has at `at`. `start` and `end` are the values of @ start() and @ end(). Returns
// Unimplemented if that is impossible: inside subqueries, whose steps are at absolute times.
StatusOr<int64_t> FoldTimes(int64_t at, int64_t start, int64_t end, lang::Expr* expr);

}  // namespace pitwall::offline
