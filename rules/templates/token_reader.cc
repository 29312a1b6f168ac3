#include "rules/templates/token_reader.h"

namespace pitwall::templates {

ExprPtr TokenReader::Make(Expr::Kind kind, const Token& token) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  const std::string place = Place(text_, token.at);
  const size_t colon = place.find(':');
  expr->line = static_cast<int>(*ParseInt(place.substr(0, colon)));
  expr->column = static_cast<int>(*ParseInt(place.substr(colon + 1)));
  expr->at = token.at;
  expr->text = text_.substr(token.at, token.after - token.at);
  return expr;
}

void TokenReader::Cover(Expr* expr) const {
  const Token& last = tokens_[at_ - 1];
  if (expr->at < last.after) expr->text = text_.substr(expr->at, last.after - expr->at);
}

}  // namespace pitwall::templates
