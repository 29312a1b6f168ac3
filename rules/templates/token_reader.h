// Reader for a template's tokens. Locates errors and expressions in the text. Private to this
// module.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/templates/template_lexer.h"
#include "rules/templates/template_tree.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {

// Cursor over the tokens. The last token has the kind kEnd, and the cursor never moves past it.
class TokenReader {
 public:
  // `text` is borrowed.
  TokenReader(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  const Token& Peek() const { return tokens_[at_]; }
  // Returns the token that is `count` positions after Peek().
  const Token& Ahead(size_t count) const { return tokens_[at_ + count]; }
  const Token& End() const { return tokens_.back(); }
  const Token& Next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  // Moves back by one token.
  void Back() { --at_; }
  // Reads the end of an action. `where` names the action in the error.
  Status Close(std::string_view where) {
    if (Peek().kind != Token::Kind::kClose) return Unexpected(Peek(), where);
    Next();
    return OkStatus();
  }

  Status Error(const Token& token, std::string_view cause) const {
    return InvalidArgument(Cat(Place(text_, token.at), ": ", cause));
  }
  Status Unexpected(const Token& token, std::string_view where) const {
    return Error(token, Cat("unexpected ", Show(token), " in ", where));
  }

  // Returns an expression that starts at the token.
  ExprPtr Make(Expr::Kind kind, const Token& token) const;
  // Extends the expression's text to the last token that was read.
  void Cover(Expr* expr) const;

 private:
  std::string Show(const Token& token) const {
    if (token.kind == Token::Kind::kEnd) return "EOF";
    if (token.kind == Token::Kind::kClose) return "\"}}\"";
    return Quote(text_.substr(token.at, token.after - token.at));
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace pitwall::templates
