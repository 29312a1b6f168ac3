// Grammar clauses that contain no expressions. Private to this module.
//
// Each function consumes tokens from the cursor. On a syntax error, it reports the error and
// returns false.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/ast.h"
#include "rules/lang/token_cursor.h"

namespace pitwall::lang {

inline constexpr std::string_view kDurationArithmetic =
    "arithmetic on durations is not supported yet";

// Parses [bool] [on|ignoring (labels) [group_left|group_right [(labels)]]] [fill…].
bool ParseBinaryModifiers(TokenCursor* cursor, BinaryExpr* binary);
// Parses (a, "b c",).
bool ParseGroupingLabels(TokenCursor* cursor, std::vector<std::string>* labels);
// Parses a literal duration or number of seconds.
bool ParseDurationLiteral(TokenCursor* cursor, std::string_view context, bool signed_allowed,
                          Duration* duration);
// Content of a window's brackets: a duration, or one of the extensions attempt | N samples | $n
// samples | first N samples [after M].
struct WindowClause {
  WindowSyntax syntax = WindowSyntax::kDuration;
  Duration range;
  int64_t samples = 0;
  int64_t skipped = 0;
  std::string samples_parameter;  // name of the parameter in $n samples
};
bool ParseWindowClause(TokenCursor* cursor, WindowClause* clause);
// Parses a matcher or a quoted metric name inside braces.
bool ParseMatcher(TokenCursor* cursor, SelectorExpr* selector);

}  // namespace pitwall::lang
