// Tables of PromQL keywords and operators for the parser. Private to this module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rules/lang/ast.h"
#include "rules/lang/lexer.h"

namespace pitwall::lang {

struct Operator {
  BinaryOp op;
  int level;  // higher binds tighter
  bool right_associative;
};
inline constexpr int kMultiplyLevel = 5;

// The binary operator of a token, if any (and, or, unless, and atan2 are identifiers).
std::optional<Operator> FindOperator(const Token& token);
std::optional<AggregateOp> FindAggregate(std::string_view word);
std::optional<MatchOp> FindMatchOp(TokenKind kind);

// PromQL's keywords are not case-sensitive.
bool IsKeyword(std::string_view word, std::string_view lower);
// Keywords that cannot be a metric name outside braces.
bool IsReserved(std::string_view word);
// step(), range(), min_of(…), and max_of(…) inside a duration.
bool IsDurationFunction(const Token& word, const Token& next);

// Text of the token for messages.
std::string Describe(const Token& token, const Source& source);

}  // namespace pitwall::lang
