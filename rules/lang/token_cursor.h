// Token cursor of the parser, which also formats its errors. Private to this module.
#pragma once

#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/lexer.h"

namespace pitwall::lang {

// Borrows everything for the duration of one parse. The last token is kEnd; the cursor never passes
// it.
class TokenCursor {
 public:
  TokenCursor(const Source& source, std::vector<Token> tokens, Diagnostics* diagnostics)
      : source_(source), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();
  bool Is(TokenKind kind) const { return Peek().kind == kind; }
  bool Accept(TokenKind kind);
  // Whether the token is this keyword, in any case.
  bool IsWord(std::string_view lower) const;
  bool AcceptWord(std::string_view lower);
  // End of the last token taken.
  uint32_t last_end() const { return last_end_; }

  // All return false. Only the first error of an expression is reported, since later ones are
  // usually caused by it.
  bool Fail(Span span, std::string_view message);
  // Reports valid PromQL that this engine does not support.
  bool Unsupported(Span span, std::string_view message);
  bool Unexpected(std::string_view context, std::string_view expected);
  // Consumes a token of this kind or reports an error.
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
