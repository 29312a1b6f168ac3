// Token cursor for the parser. Also formats the parser's errors. Private to this module.
#pragma once

#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/lang/lexer.h"

namespace pitwall::lang {

// Does not own its arguments, which must outlive the parse. The last token is kEnd, and the cursor
// never moves past it.
class TokenCursor {
 public:
  TokenCursor(const Source& source, std::vector<Token> tokens, Diagnostics* diagnostics)
      : source_(source), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();
  bool Is(TokenKind kind) const { return Peek().kind == kind; }
  bool Accept(TokenKind kind);
  // Returns true if the current token is this keyword, ignoring case.
  bool IsWord(std::string_view lower) const;
  bool AcceptWord(std::string_view lower);
  // Returns the end of the last consumed token.
  uint32_t last_end() const { return last_end_; }

  // Reports an error and returns false. Only the first error of an expression is reported, because
  // later errors usually follow from the first.
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
