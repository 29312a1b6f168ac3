#include "rules/lang/token_cursor.h"

#include <algorithm>

#include "rules/lang/parser_tables.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {

const Token& TokenCursor::Peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& TokenCursor::Take() {
  const Token& token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  last_end_ = token.span.end;
  return token;
}

bool TokenCursor::Accept(TokenKind kind) {
  if (!Is(kind)) return false;
  Take();
  return true;
}

bool TokenCursor::IsWord(std::string_view lower) const {
  return Is(TokenKind::kIdentifier) && IsKeyword(Peek().text, lower);
}

bool TokenCursor::AcceptWord(std::string_view lower) {
  if (!IsWord(lower)) return false;
  Take();
  return true;
}

bool TokenCursor::Fail(Span span, std::string_view message) {
  if (!failed_) diagnostics_->Error(source_, span, message);
  failed_ = true;
  return false;
}

bool TokenCursor::Unsupported(Span span, std::string_view message) {
  if (!failed_) diagnostics_->Unsupported(source_, span, message);
  failed_ = true;
  return false;
}

bool TokenCursor::Unexpected(std::string_view context, std::string_view expected) {
  const Token& token = Peek();
  std::string message = Cat("unexpected ", Describe(token, source_));
  if (!context.empty()) CatTo(message, " in ", context);
  if (!expected.empty()) CatTo(message, ", expected ", expected);
  return Fail(token.span, message);
}

bool TokenCursor::Expect(TokenKind kind, std::string_view context, std::string_view expected) {
  return Accept(kind) || Unexpected(context, expected);
}

}  // namespace pitwall::lang
