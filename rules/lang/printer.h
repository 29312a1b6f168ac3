// Printer that converts a syntax tree to canonical text, so that ParseExpr(Print(e)) equals e.
// Equal trees have equal texts, so the text can identify a subexpression in evidence, --explain,
// and state.
#pragma once

#include <string>

#include "rules/lang/ast.h"

namespace pitwall::lang {

std::string Print(const Expr& expr);
// Quotes the text with escapes that the lexer accepts. Invalid UTF-8 bytes become \xNN.
std::string PrintString(std::string_view text);
// Prints the name without quotes if PromQL allows it.
std::string PrintLabelName(std::string_view name);

}  // namespace pitwall::lang
