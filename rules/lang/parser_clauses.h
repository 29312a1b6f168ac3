// The clauses of the grammar that hold no expressions. Private to this module.
//
// Each takes its tokens from the cursor; false when they do not fit, with the error said.
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
// A duration or a number of seconds, as a literal.
bool ParseDurationLiteral(TokenCursor* cursor, std::string_view context, bool signed_allowed,
                          Duration* duration);
// What is between the brackets of a window: a duration, or one of our own kinds:
// attempt | N samples | $n samples | first N samples [after M]
struct WindowClause {
  WindowSyntax syntax = WindowSyntax::kDuration;
  Duration range;
  int64_t samples = 0;
  int64_t skipped = 0;
  std::string samples_parameter;  // $n samples: the name
};
bool ParseWindowClause(TokenCursor* cursor, WindowClause* clause);
// One matcher, or the quoted name of the metric, between braces.
bool ParseMatcher(TokenCursor* cursor, SelectorExpr* selector);

}  // namespace pitwall::lang
