// Rewrite of `@` modifiers and negative offsets in queries over stored samples. For a single tick,
// a fixed time is equivalent to an offset. A future time becomes a past time if the query is
// evaluated at a later tick. Live rules cannot use this rewrite.
#pragma once

#include <cstdint>

#include "rules/lang/ast.h"
#include "services/base/status.h"

namespace pitwall::offline {

// Returns true if the expression contains `@` or a negative offset.
bool LooksElsewhere(const lang::Expr& expr);

// Removes `@` modifiers and negative offsets from `expr`, and returns a shift. Evaluating the
// rewritten expression at tick `at` + shift gives the value of the original expression at `at`.
// `start` and `end` are the values for @ start() and @ end(). Returns Unimplemented for such
// modifiers inside subqueries, because subquery steps are at absolute times.
StatusOr<int64_t> FoldTimes(int64_t at, int64_t start, int64_t end, lang::Expr* expr);

}  // namespace pitwall::offline
