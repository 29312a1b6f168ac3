// Walks over tokens for the parser, and words its errors. Private to this module.
#pragma once

#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/lexer.h"

namespace pitwall::lang {

// Everything is borrowed for the time of one parse. The last token is kEnd and is never passed.
class TokenCursor {
 public:
  TokenCursor(const Source& source, std::vector<Token> tokens, Diagnostics* diagnostics)
      : source_(source), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();
  bool Is(TokenKind kind) const { return Peek().kind == kind; }
  bool Accept(TokenKind kind);
  // An identifier that is this keyword, in any case.
  bool IsWord(std::string_view lower) const;
  bool AcceptWord(std::string_view lower);
  // End of the last token taken.
  uint32_t last_end() const { return last_end_; }

  // All return false. Only the first error of an expression counts: those after it are mostly its
  // echo.
  bool Fail(Span span, std::string_view message);
  // PromQL has it, this engine does not.
  bool Unsupported(Span span, std::string_view message);
  bool Unexpected(std::string_view context, std::string_view expected);
  // Takes a token of this kind or fails.
  bool Expect(TokenKind kind, std::string_view context, std::string_view expected);
  bool failed() const { return failed_; }

 private:
  const Source& source_;
  std::vector<Token> tokens_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  uint32_t last_end_ = 0;
  bool failed_ = false;
};

}  // namespace pitwall::lang
