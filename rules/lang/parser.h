// Parser from expression text to a syntax tree. Accepts the full PromQL grammar of Prometheus 3
// with its experimental parts, except duration arithmetic (reported as unsupported), and the
// extensions of ast.h.
#pragma once

#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"

namespace pitwall::lang {

inline constexpr size_t kMaxExpressionBytes = 64 * 1024;
// Limits on the nesting of the text (parentheses, calls, signs, ^) and of the tree. Operators of
// equal precedence form a left-deep chain without nesting in the text, but every later stage
// recurses over the tree.
inline constexpr int kMaxExpressionDepth = 128;
inline constexpr int kMaxTreeDepth = 256;

// Returns null on an error; `diagnostics` then has at least one new error.
ExprPtr ParseExpr(const Source& source, Diagnostics* diagnostics);

}  // namespace pitwall::lang
