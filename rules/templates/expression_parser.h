// Parser for the expressions in a template's actions. Private to this module.
#pragma once

#include <cstddef>
#include <string_view>

#include "rules/templates/template_tree.h"
#include "rules/templates/token_reader.h"
#include "rules/templates/variable_scope.h"
#include "services/base/status.h"

namespace pitwall::templates {

inline constexpr int kMaxParseDepth = 50;

// Parser for the expressions in one template. The pointers are borrowed. Adds the queries, labels,
// and parameters of the expressions to the body.
class ExpressionParser {
 public:
  ExpressionParser(TokenReader* tokens, const VariableScope* scope, TemplateBody* body)
      : tokens_(tokens), scope_(scope), body_(body) {}

  // Parses a pipeline up to the end of its action. `where` names the action in errors.
  StatusOr<ExprPtr> ParsePipeline(std::string_view where, int depth);

 private:
  StatusOr<ExprPtr> ParseCommand(std::string_view where, ExprPtr piped, size_t stage, int depth);
  StatusOr<ExprPtr> ParseOperand(std::string_view where, int depth);
  StatusOr<ExprPtr> ParseVariable(const Token& token);
  StatusOr<ExprPtr> ParseName(const Token& token);
  StatusOr<ExprPtr> ParseFields(ExprPtr base);
  StatusOr<ExprPtr> ParseQuery(const Token& name, ExprPtr call);
  StatusOr<ExprPtr> Finish(const Token& name, ExprPtr call);

  TokenReader* const tokens_;
  const VariableScope* const scope_;
  TemplateBody* const body_;
};

}  // namespace pitwall::templates
