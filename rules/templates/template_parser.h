// Parser that converts tokens to the template tree. Private to this module; the entry point is
// Template::Parse.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/templates/expression_parser.h"
#include "rules/templates/template_lexer.h"
#include "rules/templates/template_tree.h"
#include "rules/templates/token_reader.h"
#include "rules/templates/variable_scope.h"
#include "services/base/status.h"

namespace pitwall::templates {

// Parser for one template. Not thread-safe.
class Parser {
 public:
  // Fills `body`. The text and the body are borrowed.
  Parser(std::string_view text, std::vector<Token> tokens, TemplateBody* body);
  // Not copyable, because the expression parser points to the tokens and the scope.
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Status Run();

 private:
  // Parses up to {{end}} or {{else}}. `stop` receives that keyword (its {{ is consumed), or "" at
  // the end of the template.
  Status ParseBlock(Block* block, int depth, std::string* stop);
  Status ParseControl(Statement* statement, std::string_view word, int depth);
  // Parses the rest of the statement after the block of {{if}}, {{with}}, or {{range}}: {{else}}
  // with its block, and {{end}}.
  Status ParseRest(Statement* statement, std::string_view word, int depth, std::string stop);
  Status ParseRange(Statement* statement, int depth);
  Status ParseDefine(int depth);
  // Parses {{template "name" x}} and {{block "name" x}}. For {{block}}, also parses the body.
  Status ParseCall(Statement* statement, bool block, int depth);
  Status ParseBody(std::string_view word, const Token& name, int depth);
  StatusOr<Token> ParseName(std::string_view word);
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

  TokenReader tokens_;
  VariableScope scope_;
  TemplateBody* body_;
  ExpressionParser expressions_;
  int ranges_ = 0;  // number of enclosing `range` actions
  // Names of called templates. Each must be defined by the end of the input.
  std::vector<std::pair<std::string, Token>> calls_;
};

}  // namespace pitwall::templates
