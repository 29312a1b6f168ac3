#include "rules/templates/expression_parser.h"

#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rules/templates/go_format.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

// Returns the number, or nullopt if its syntax is invalid.
std::optional<Value> ParseNumber(std::string digits) {
  std::erase(digits, '_');
  if (!digits.empty() && digits[0] == '+') digits.erase(0, 1);
  const bool negative = !digits.empty() && digits[0] == '-';
  const std::string_view magnitude = std::string_view(digits).substr(negative ? 1 : 0);
  if (StartsWith(magnitude, "0x") || StartsWith(magnitude, "0X")) {
    uint64_t value = 0;
    bool good = magnitude.size() > 2 && magnitude.size() <= 17;
    for (const char c : magnitude.substr(2)) {
      const size_t digit =
          std::string_view("0123456789abcdef")
              .find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
      good = good && digit != std::string_view::npos;
      value = value * 16 + digit;
    }
    if (!good) return std::nullopt;
    return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  }
  if (const std::optional<int64_t> i = ParseInt(digits)) {
    return *i;
  }
  const bool plausible = magnitude.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  const std::optional<double> d = plausible ? ParseDouble(digits) : std::nullopt;
  if (!d) return std::nullopt;
  return *d;
}

}  // namespace

StatusOr<ExprPtr> ExpressionParser::ParsePipeline(std::string_view where, int depth) {
  if (depth > kMaxParseDepth) return tokens_->Error(tokens_->Peek(), "nested too deeply");
  ExprPtr piped;
  for (size_t stage = 1;; ++stage) {
    ASSIGN_OR_RETURN(piped, ParseCommand(where, std::move(piped), stage, depth));
    if (tokens_->Peek().kind != Token::Kind::kPipe) return piped;
    tokens_->Next();
  }
}

StatusOr<ExprPtr> ExpressionParser::ParseCommand(std::string_view where, ExprPtr piped,
                                                 size_t stage, int depth) {
  const Token first = tokens_->Peek();
  if (first.kind == Token::Kind::kClose || first.kind == Token::Kind::kPipe ||
      first.kind == Token::Kind::kRight) {
    return stage == 1 && first.kind != Token::Kind::kPipe
               ? tokens_->Error(first, Cat("missing value for ", where))
               : tokens_->Error(first, "empty command in pipeline");
  }
  const auto at_end = [this] {
    const Token::Kind k = tokens_->Peek().kind;
    return k == Token::Kind::kClose || k == Token::Kind::kPipe || k == Token::Kind::kRight ||
           k == Token::Kind::kEnd;
  };
  if (first.kind == Token::Kind::kName && first.text != "true" && first.text != "false" &&
      first.text != "nil") {
    tokens_->Next();
    ExprPtr call = tokens_->Make(Expr::Kind::kCall, first);
    while (!at_end()) {
      ASSIGN_OR_RETURN(ExprPtr argument, ParseOperand("operand", depth));
      call->arguments.push_back(std::move(argument));
    }
    if (piped != nullptr) call->arguments.push_back(std::move(piped));
    return Finish(first, std::move(call));
  }
  ASSIGN_OR_RETURN(ExprPtr value, ParseOperand(where, depth));
  if (piped != nullptr) {
    return tokens_->Error(first, Cat("non executable command in pipeline stage ", stage));
  }
  if (!at_end())
    return tokens_->Error(first, Cat("can't give argument to non-function ", value->text));
  if (value->kind == Expr::Kind::kLiteral && std::holds_alternative<Nil>(value->literal)) {
    return tokens_->Error(first, "nil is not a command");
  }
  return value;
}

StatusOr<ExprPtr> ExpressionParser::Finish(const Token& name, ExprPtr call) {
  const size_t n = call->arguments.size();
  tokens_->Cover(call.get());
  if (name.text == "and" || name.text == "or") {
    call->kind = name.text == "and" ? Expr::Kind::kAnd : Expr::Kind::kOr;
    if (n == 0)
      return tokens_->Error(name,
                            Cat("wrong number of args for ", name.text, ": want at least 1 got 0"));
    return call;
  }
  if (name.text == "query") return ParseQuery(name, std::move(call));
  call->function = FindFunction(name.text);
  if (call->function == nullptr) {
    const std::string_view why = WhyNotSupported(name.text);
    if (!why.empty())
      return tokens_->Error(name, Cat("function ", Quote(name.text), " is not supported: ", why));
    return tokens_->Error(name, Cat("function ", Quote(name.text), " not defined"));
  }
  const TemplateFunction& f = *call->function;
  if (static_cast<int>(n) < f.min_arguments ||
      (f.max_arguments >= 0 && static_cast<int>(n) > f.max_arguments)) {
    return tokens_->Error(name, Cat("wrong number of args for ", f.name, ": want ",
                                    f.max_arguments == f.min_arguments ? "" : "at least ",
                                    f.min_arguments, " got ", n));
  }
  if (f.name == "now") body_->varies = true;
  return call;
}

StatusOr<ExprPtr> ExpressionParser::ParseOperand(std::string_view where, int depth) {
  const Token token = tokens_->Next();
  switch (token.kind) {
    case Token::Kind::kString: {
      ExprPtr expr = tokens_->Make(Expr::Kind::kLiteral, token);
      expr->literal = token.text;
      return expr;
    }
    case Token::Kind::kNumber: {
      const std::optional<Value> number = ParseNumber(token.text);
      if (!number) return tokens_->Error(token, Cat("bad number syntax: ", Quote(token.text)));
      ExprPtr expr = tokens_->Make(Expr::Kind::kLiteral, token);
      expr->literal = *number;
      return expr;
    }
    case Token::Kind::kDot:
      body_->varies = true;
      return tokens_->Make(Expr::Kind::kDot, token);
    case Token::Kind::kField: {
      // The token is a field of dot. ParseFields adds it to the expression.
      tokens_->Back();
      ExprPtr dot = tokens_->Make(Expr::Kind::kDot, token);
      dot->text.clear();
      return ParseFields(std::move(dot));
    }
    case Token::Kind::kVariable:
      return ParseVariable(token);
    case Token::Kind::kLeft: {
      ASSIGN_OR_RETURN(ExprPtr inner, ParsePipeline("parenthesized pipeline", depth + 1));
      if (tokens_->Peek().kind != Token::Kind::kRight)
        return tokens_->Unexpected(tokens_->Peek(), "parenthesized pipeline");
      tokens_->Next();
      return ParseFields(std::move(inner));
    }
    case Token::Kind::kName:
      return ParseName(token);
    default:
      return tokens_->Unexpected(token, where);
  }
}

StatusOr<ExprPtr> ExpressionParser::ParseVariable(const Token& token) {
  const Variable* variable = scope_->Find(token.text);
  if (variable == nullptr)
    return tokens_->Error(token, Cat("undefined variable ", Quote(token.text)));
  ExprPtr expr = tokens_->Make(Expr::Kind::kVariable, token);
  expr->slot = variable->slot;
  if (variable->slot == kValueSlot || variable->slot == kParamsSlot ||
      variable->slot == kStepSlot) {
    body_->varies = true;
  }
  const bool bare_root = variable->slot == kRootSlot &&
                         (tokens_->Peek().kind != Token::Kind::kField || tokens_->Peek().spaced);
  if (bare_root) body_->varies = true;
  return ParseFields(std::move(expr));
}

StatusOr<ExprPtr> ExpressionParser::ParseName(const Token& token) {
  ExprPtr expr = tokens_->Make(Expr::Kind::kLiteral, token);
  if (token.text == "true" || token.text == "false") {
    expr->literal = token.text == "true";
    return expr;
  }
  if (token.text == "nil") return expr;
  // A function without arguments can be an argument, as in printf "%v" now.
  expr->kind = Expr::Kind::kCall;
  return Finish(token, std::move(expr));
}

StatusOr<ExprPtr> ExpressionParser::ParseFields(ExprPtr base) {
  bool first = base->kind == Expr::Kind::kDot;
  while (tokens_->Peek().kind == Token::Kind::kField && (first || !tokens_->Peek().spaced)) {
    const Token token = tokens_->Next();
    const bool root = base->kind == Expr::Kind::kDot ||
                      (base->kind == Expr::Kind::kVariable && base->slot == kRootSlot);
    if (root && token.text == "Value") body_->varies = true;
    if (base->kind == Expr::Kind::kVariable && base->slot == kParamsSlot) {
      body_->parameters.push_back(token.text);
    }
    const bool of_labels =
        (base->kind == Expr::Kind::kVariable && base->slot == kLabelsSlot) ||
        (base->kind == Expr::Kind::kField && base->field == "Labels" && !scope_->separate() &&
         base->arguments[0]->kind == Expr::Kind::kVariable &&
         base->arguments[0]->slot == kRootSlot);
    if (of_labels) {
      const Expr& first_part = base->kind == Expr::Kind::kField ? *base->arguments[0] : *base;
      body_->labels.push_back({token.text, first_part.at, token.after});
    }
    ExprPtr field = tokens_->Make(Expr::Kind::kField, token);
    field->text = base->text + "." + token.text;
    field->field = token.text;
    field->arguments.push_back(std::move(base));
    base = std::move(field);
    first = false;
  }
  return base;
}

// Parses a query. The query text is a literal such as "up" or a printf of constants, so it is known
// at load time and can be compiled with the rule.
StatusOr<ExprPtr> ExpressionParser::ParseQuery(const Token& name, ExprPtr call) {
  if (call->arguments.size() != 1) {
    return tokens_->Error(
        name, Cat("wrong number of args for query: want 1 got ", call->arguments.size()));
  }
  const Expr& text = *call->arguments[0];
  const auto literal = [](const Expr& expr) { return expr.kind == Expr::Kind::kLiteral; };
  std::string query;
  bool constant = false;
  if (literal(text) && std::holds_alternative<std::string>(text.literal)) {
    query = std::get<std::string>(text.literal);
    constant = true;
  } else if (text.kind == Expr::Kind::kCall && text.function != nullptr &&
             text.function->name == "printf") {
    constant = std::holds_alternative<std::string>(text.arguments[0]->literal);
    std::vector<Value> values;
    for (const ExprPtr& argument : text.arguments) {
      constant = constant && literal(*argument);
      values.push_back(argument->literal);
    }
    if (constant) {
      query = GoPrintf(std::get<std::string>(values[0]), std::span(values).subspan(1));
    }
  }
  if (!constant) {
    return tokens_->Error(
        name,
        "the text of a query must be constant: it is compiled with the rule, before any "
        "label or value is known. Query all series and pick among them ({{ range query "
        "\"…\" }}{{ if eq .Labels.x $labels.x }}…), or bring the value into expr");
  }
  call->kind = Expr::Kind::kQuery;
  call->slot = static_cast<uint32_t>(body_->queries.size());
  body_->queries.push_back({std::move(query), text.at, text.at + text.text.size()});
  body_->varies = true;
  return call;
}

}  // namespace pitwall::templates
