// Syntax tree -> canonical text: ParseExpr(Print(e)) equals e. Equal trees have equal texts, so a
// text can name a sub-expression in evidence, --explain and state.
#pragma once

#include <string>

#include "rules/lang/ast.h"

namespace pitwall::lang {

std::string Print(const Expr& expr);
// "text" with the escapes that the lexer reads; bytes that are no UTF-8 as \xNN.
std::string PrintString(std::string_view text);
// The name bare where PromQL allows that, else quoted.
std::string PrintLabelName(std::string_view name);

}  // namespace pitwall::lang
