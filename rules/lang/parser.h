// Parser that converts expression text to a syntax tree. It accepts the full PromQL grammar of
// Prometheus 3 and the extensions in ast.h. This includes the experimental parts except duration
// arithmetic, which is reported as unsupported.
#pragma once

#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"

namespace pitwall::lang {

inline constexpr size_t kMaxExpressionBytes = 64 * 1024;
// Maximum nesting of the text (parentheses, calls, signs, ^) and of the tree. Operators of equal
// precedence form a left-deep chain without nesting in the text, but every later stage recurses
// over the tree.
inline constexpr int kMaxExpressionDepth = 128;
inline constexpr int kMaxTreeDepth = 256;

// Parses an expression. Returns null on an error, and adds at least one error to `diagnostics`.
ExprPtr ParseExpr(const Source& source, Diagnostics* diagnostics);

}  // namespace pitwall::lang
