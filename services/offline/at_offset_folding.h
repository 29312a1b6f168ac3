// Rewriting of `@` and negative offsets in queries over stored samples. For a single tick, a fixed
// time is equivalent to an offset, and a later time becomes a past time when the query is evaluated
// at a later tick. Live rules cannot use this.
#pragma once

#include <cstdint>

#include "rules/lang/ast.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Returns true if the expression contains `@` or a negative offset.
bool LooksElsewhere(const lang::Expr& expr);

// Rewrites `expr` without `@` and negative offsets and returns a shift. The rewritten expression
// has, at tick `at` + shift, the value that the original expression has at `at`. `start` and `end`
// are the values of @ start() and @ end(). Returns Unimplemented for such modifiers inside
// subqueries, whose steps are at absolute times.
StatusOr<int64_t> FoldTimes(int64_t at, int64_t start, int64_t end, lang::Expr* expr);

}  // namespace pitwall::offline
