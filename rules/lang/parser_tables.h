// PromQL's keywords and operators, for the parser. Private to this module.
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

// The binary operator that a token is, if any (and, or, unless and atan2 are words).
std::optional<Operator> FindOperator(const Token& token);
std::optional<AggregateOp> FindAggregate(std::string_view word);
std::optional<MatchOp> FindMatchOp(TokenKind kind);

// PromQL's keywords are not case-sensitive.
bool IsKeyword(std::string_view word, std::string_view lower);
// Words that cannot be the name of a metric outside of braces.
bool IsReserved(std::string_view word);
// step(), range(), min_of(…), max_of(…) inside of a duration.
bool IsDurationFunction(const Token& word, const Token& next);

// The token as messages show it.
std::string Describe(const Token& token, const Source& source);

}  // namespace pitwall::lang
