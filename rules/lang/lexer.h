// Lexer that follows Prometheus' rules. Keywords are identifiers, because PromQL allows most of
// them as metric and label names and only the parser can distinguish them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"

namespace pitwall::lang {

enum class TokenKind {
  kEnd,
  kIdentifier,  // text; may contain ':' outside braces and brackets
  kNumber,      // number
  kDuration,    // number, in seconds
  kString,      // text, unescaped
  kParameter,   // text, without the $
  kLeftParen,
  kRightParen,
  kLeftBrace,
  kRightBrace,
  kLeftBracket,
  kRightBracket,
  kComma,
  kColon,
  kAt,
  kAssign,
  kNotEqual,
  kRegex,
  kNotRegex,  // = != =~ !~
  kEqual,
  kGreater,
  kLess,
  kGreaterEqual,
  kLessEqual,
  kTrimUpper,
  kTrimLower,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kPow,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span span;
  std::string text;
  double number = 0;
};

// Appends the tokens of `source`, ending with kEnd. On an error, adds a diagnostic and returns
// false.
bool Lex(const Source& source, std::vector<Token>* tokens, Diagnostics* diagnostics);

// Returns true if the name needs no quotes: [a-zA-Z_][a-zA-Z0-9_]*, and for metrics also ':'.
bool IsPlainLabelName(std::string_view name);
bool IsPlainMetricName(std::string_view name);

}  // namespace pitwall::lang
