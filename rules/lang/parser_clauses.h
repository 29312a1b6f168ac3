// Grammar clauses that contain no expressions. Private to this module.
//
// Each function consumes tokens from the cursor. It returns false on a syntax error, which is
// reported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/ast.h"
#include "rules/lang/token_cursor.h"

namespace pitwall::lang {

inline constexpr std::string_view kDurationArithmetic =
    "arithmetic on durations is not supported yet";

// [bool] [on|ignoring (labels) [group_left|group_right [(labels)]]] [fill…]
bool ParseBinaryModifiers(TokenCursor* cursor, BinaryExpr* binary);
// (a, "b c",)
bool ParseGroupingLabels(TokenCursor* cursor, std::vector<std::string>* labels);
// A literal duration or number of seconds.
bool ParseDurationLiteral(TokenCursor* cursor, std::string_view context, bool signed_allowed,
                          Duration* duration);
// The content of a window's brackets: a duration, or one of the extensions:
// attempt | N samples | $n samples | first N samples [after M]
struct WindowClause {
  WindowSyntax syntax = WindowSyntax::kDuration;
  Duration range;
  int64_t samples = 0;
  int64_t skipped = 0;
  std::string samples_parameter;  // name of the parameter in $n samples
};
bool ParseWindowClause(TokenCursor* cursor, WindowClause* clause);
// A matcher or a quoted metric name, between braces.
bool ParseMatcher(TokenCursor* cursor, SelectorExpr* selector);

}  // namespace pitwall::lang
