// Printer from a syntax tree to canonical text: ParseExpr(Print(e)) equals e. Equal trees have
// equal texts, so the text can identify a sub-expression in evidence, --explain, and state.
#pragma once

#include <string>

#include "rules/lang/ast.h"

namespace pitwall::lang {

std::string Print(const Expr& expr);
// Quotes the text with the escapes that the lexer accepts; invalid UTF-8 bytes become \xNN.
std::string PrintString(std::string_view text);
// Prints the name without quotes where PromQL allows it.
std::string PrintLabelName(std::string_view name);

}  // namespace pitwall::lang
