// Fuzzes an expression. Either it parses or the error has a position, and a parsed expression
// prints to text that parses to the same expression.
#include <cstdint>

#include "rules/lang/parser.h"
#include "rules/lang/printer.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall::lang;
  const Source source("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  Diagnostics diagnostics;
  const ExprPtr expr = ParseExpr(source, &diagnostics);
  PITWALL_CHECK((expr == nullptr) == diagnostics.HasErrors());
  if (expr == nullptr) {
    diagnostics.ToString();
    return 0;
  }
  PITWALL_CHECK(expr->span.begin <= expr->span.end && expr->span.end <= size);
  const std::string printed = Print(*expr);
  Diagnostics again_diagnostics;
  // The canonical text may be longer than the input because of escapes, up to the parser's limit.
  if (printed.size() > kMaxExpressionBytes) return 0;
  const ExprPtr again = ParseExpr(Source("again", printed), &again_diagnostics);
  PITWALL_CHECK(again != nullptr);
  PITWALL_CHECK(Equal(*expr, *again));
  PITWALL_CHECK(Print(*again) == printed);
  return 0;
}
