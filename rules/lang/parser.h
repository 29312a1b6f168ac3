// Text of an expression -> syntax tree. The whole grammar of Prometheus 3's PromQL with the
// experimental parts (except arithmetic on durations, which gets a clear error), and our additions:
// see ast.h.
#pragma once

#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"

namespace pitwall::lang {

inline constexpr size_t kMaxExpressionBytes = 64 * 1024;
// Nesting of the text (parentheses, calls, signs, ^), and of the tree: operators of one level chain
// to the left without nesting in the text, but every later stage recurses over the tree.
inline constexpr int kMaxExpressionDepth = 128;
inline constexpr int kMaxTreeDepth = 256;

// Null when anything was wrong; `diagnostics` then has at least one error more.
ExprPtr ParseExpr(const Source& source, Diagnostics* diagnostics);

}  // namespace pitwall::lang
