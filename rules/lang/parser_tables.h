// Tables of PromQL keywords and operators. Private to this module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rules/lang/ast.h"
#include "rules/lang/lexer.h"

namespace pitwall::lang {

struct Operator {
  BinaryOp op;
  int level;  // a higher level binds tighter
  bool right_associative;
};
inline constexpr int kMultiplyLevel = 5;

// Returns the binary operator of a token, or nullopt (and, or, unless, and atan2 are identifiers).
std::optional<Operator> FindOperator(const Token& token);
std::optional<AggregateOp> FindAggregate(std::string_view word);
std::optional<MatchOp> FindMatchOp(TokenKind kind);

// Compares a word with a lower-case keyword, ignoring case.
bool IsKeyword(std::string_view word, std::string_view lower);
// Returns true for keywords that cannot be a metric name outside braces.
bool IsReserved(std::string_view word);
// Returns true for step(), range(), min_of(…), and max_of(…) inside a duration.
bool IsDurationFunction(const Token& word, const Token& next);

// Returns the token's text for messages.
std::string Describe(const Token& token, const Source& source);

}  // namespace pitwall::lang
