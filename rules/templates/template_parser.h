// Parser that converts tokens to the template tree. Private to this module; the entry point is
// Template::Parse.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/templates/template_lexer.h"
#include "rules/templates/template_tree.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {

inline constexpr int kMaxParseDepth = 50;

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens, TemplateBody* body);

  Status Run();

 private:
  using Kind = Token::Kind;
  struct Variable {
    std::string name;
    uint32_t slot;
  };

  const Token& Peek() const { return tokens_[at_]; }
  const Token& Next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  Status Error(const Token& token, std::string_view cause) const {
    return InvalidArgument(Cat(Place(text_, token.at), ": ", cause));
  }
  std::string Show(const Token& token) const {
    if (token.kind == Kind::kEnd) return "EOF";
    if (token.kind == Kind::kClose) return "\"}}\"";
    return Quote(text_.substr(token.at, token.after - token.at));
  }
  Status Unexpected(const Token& token, std::string_view where) const {
    return Error(token, Cat("unexpected ", Show(token), " in ", where));
  }

  // Parses up to {{end}} or {{else}}. `stop` receives that keyword (its {{ is consumed), or "" at
  // the end of the template.
  Status ParseBlock(Block* block, int depth, std::string* stop);
  Status ParseControl(Statement* statement, std::string_view word, int depth);
  // Parses the rest of the statement after the block of {{if}}, {{with}}, or {{range}}: {{else}}
  // with its block, and {{end}}.
  Status ParseRest(Statement* statement, std::string_view word, int depth, std::string stop);
  Status ParseRange(Statement* statement, int depth);
  Status ParseDefine(int depth);
  // Parses {{template "name" x}} and {{block "name" x}}. A block includes its body.
  Status ParseCall(Statement* statement, bool block, int depth);
  Status ParseBody(std::string_view word, const Token& name, int depth);
  StatusOr<Token> ParseName(std::string_view word);
  StatusOr<ExprPtr> ParseQuery(const Token& name, ExprPtr call);
  StatusOr<ExprPtr> ParsePipeline(std::string_view where, int depth);
  StatusOr<ExprPtr> ParseCommand(std::string_view where, ExprPtr piped, size_t stage, int depth);
  StatusOr<ExprPtr> ParseOperand(std::string_view where, int depth);
  StatusOr<ExprPtr> ParseFields(ExprPtr base);
  StatusOr<ExprPtr> ParseNumber(const Token& token);
  StatusOr<ExprPtr> Finish(const Token& name, ExprPtr call);
  Status Close(std::string_view where);
  // Parses `$x :=` or `$x =` before a pipeline.
  struct Declaration {
    bool there = false;
    bool declares = false;
    Token token;
    bool second = false;  // true if two variables are declared ($i, $x), which only `range` allows
    Token second_token;
  };
  Declaration ParseDeclaration(bool range = false);
  StatusOr<uint32_t> Declare(const Token& token, bool declares);
  const Variable* Find(std::string_view name) const;
  ExprPtr Make(Expr::Kind kind, const Token& token) const;
  void Cover(Expr* expr) const;  // extends the expression's text to the last token

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  TemplateBody* body_;
  std::vector<Variable> variables_;
  int ranges_ = 0;  // number of enclosing `range` actions
  bool defining_ = false;
  // Names of called templates, each of which must be defined by the end of the input.
  std::vector<std::pair<std::string, Token>> calls_;
};

}  // namespace pitwall::templates
