#include <algorithm>
#include <optional>
#include <utility>

#include "rules/templates/template_parser.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

constexpr size_t kMaxText = 64 * 1024;

// Parses the position at the beginning of a message such as "2:6: cause".
ParseProblem Locate(std::string_view text, std::string_view message) {
  const size_t colon = message.find(':');
  const size_t second = message.find(':', colon + 1);
  if (second == std::string_view::npos) return {0, std::string(message)};
  const auto line = ParseInt(message.substr(0, colon));
  const auto column = ParseInt(message.substr(colon + 1, second - colon - 1));
  if (!line || !column) return {0, std::string(message)};
  size_t at = 0;
  for (int64_t l = 1; l < *line; ++l) at = text.find('\n', at) + 1;
  at = std::min(at + static_cast<size_t>(*column) - 1, text.size());
  return {at, std::string(Trim(message.substr(second + 1)))};
}

}  // namespace

Parser::Parser(std::string_view text, std::vector<Token> tokens, TemplateBody* body)
    : text_(text), tokens_(std::move(tokens)), body_(body) {
  variables_ = {{"$", kRootSlot},
                {"$labels", kLabelsSlot},
                {"$externalLabels", kExternalLabelsSlot},
                {"$externalURL", kExternalUrlSlot},
                {"$value", kValueSlot},
                {"$params", kParamsSlot},
                {"$step", kStepSlot}};
}

Status Parser::Run() {
  std::string stop;
  RETURN_IF_ERROR(ParseBlock(&body_->block, 0, &stop));
  if (!stop.empty()) return Error(tokens_[at_], Cat("unexpected {{", stop, "}}"));
  for (const auto& [name, token] : calls_) {
    if (!body_->templates.contains(name))
      return Error(token, Cat("template ", Quote(name), " not defined"));
  }
  return OkStatus();
}

ExprPtr Parser::Make(Expr::Kind kind, const Token& token) const {
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

void Parser::Cover(Expr* expr) const {
  const Token& last = tokens_[at_ - 1];
  if (expr->at < last.after) expr->text = text_.substr(expr->at, last.after - expr->at);
}

const Parser::Variable* Parser::Find(std::string_view name) const {
  for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
    if (it->name == name) return &*it;
  }
  return nullptr;
}

Status Parser::Close(std::string_view where) {
  if (Peek().kind != Kind::kClose) return Unexpected(Peek(), where);
  Next();
  return OkStatus();
}

StatusOr<ExprPtr> Parser::ParsePipeline(std::string_view where, int depth) {
  if (depth > kMaxParseDepth) return Error(Peek(), "nested too deeply");
  ExprPtr piped;
  for (size_t stage = 1;; ++stage) {
    ASSIGN_OR_RETURN(piped, ParseCommand(where, std::move(piped), stage, depth));
    if (Peek().kind != Kind::kPipe) return piped;
    Next();
  }
}

StatusOr<ExprPtr> Parser::ParseCommand(std::string_view where, ExprPtr piped, size_t stage,
                                       int depth) {
  const Token first = Peek();
  if (first.kind == Kind::kClose || first.kind == Kind::kPipe || first.kind == Kind::kRight) {
    return stage == 1 && first.kind != Kind::kPipe ? Error(first, Cat("missing value for ", where))
                                                   : Error(first, "empty command in pipeline");
  }
  const auto at_end = [this] {
    const Kind k = Peek().kind;
    return k == Kind::kClose || k == Kind::kPipe || k == Kind::kRight || k == Kind::kEnd;
  };
  if (first.kind == Kind::kName && first.text != "true" && first.text != "false" &&
      first.text != "nil") {
    Next();
    ExprPtr call = Make(Expr::Kind::kCall, first);
    while (!at_end()) {
      ASSIGN_OR_RETURN(ExprPtr argument, ParseOperand("operand", depth));
      call->arguments.push_back(std::move(argument));
    }
    if (piped != nullptr) call->arguments.push_back(std::move(piped));
    return Finish(first, std::move(call));
  }
  ASSIGN_OR_RETURN(ExprPtr value, ParseOperand(where, depth));
  if (piped != nullptr) {
    return Error(first, Cat("non executable command in pipeline stage ", stage));
  }
  if (!at_end()) return Error(first, Cat("can't give argument to non-function ", value->text));
  if (value->kind == Expr::Kind::kLiteral && std::holds_alternative<Nil>(value->literal)) {
    return Error(first, "nil is not a command");
  }
  return value;
}

StatusOr<ExprPtr> Parser::Finish(const Token& name, ExprPtr call) {
  const size_t n = call->arguments.size();
  Cover(call.get());
  if (name.text == "and" || name.text == "or") {
    call->kind = name.text == "and" ? Expr::Kind::kAnd : Expr::Kind::kOr;
    if (n == 0)
      return Error(name, Cat("wrong number of args for ", name.text, ": want at least 1 got 0"));
    return call;
  }
  if (name.text == "query") return ParseQuery(name, std::move(call));
  call->function = FindFunction(name.text);
  if (call->function == nullptr) {
    const std::string_view why = WhyNotSupported(name.text);
    if (!why.empty())
      return Error(name, Cat("function ", Quote(name.text), " is not supported: ", why));
    return Error(name, Cat("function ", Quote(name.text), " not defined"));
  }
  const TemplateFunction& f = *call->function;
  if (static_cast<int>(n) < f.min_arguments ||
      (f.max_arguments >= 0 && static_cast<int>(n) > f.max_arguments)) {
    return Error(name, Cat("wrong number of args for ", f.name, ": want ",
                           f.max_arguments == f.min_arguments ? "" : "at least ", f.min_arguments,
                           " got ", n));
  }
  if (f.name == "now") body_->varies = true;
  return call;
}

StatusOr<ExprPtr> Parser::ParseOperand(std::string_view where, int depth) {
  const Token token = Next();
  switch (token.kind) {
    case Kind::kString: {
      ExprPtr expr = Make(Expr::Kind::kLiteral, token);
      expr->literal = token.text;
      return expr;
    }
    case Kind::kNumber:
      return ParseNumber(token);
    case Kind::kDot:
      body_->varies = true;
      return Make(Expr::Kind::kDot, token);
    case Kind::kField: {
      // The token is a field of the dot, and ParseFields adds the field.
      --at_;
      ExprPtr dot = Make(Expr::Kind::kDot, token);
      dot->text.clear();
      return ParseFields(std::move(dot));
    }
    case Kind::kVariable: {
      const Variable* variable = Find(token.text);
      if (variable == nullptr) return Error(token, Cat("undefined variable ", Quote(token.text)));
      ExprPtr expr = Make(Expr::Kind::kVariable, token);
      expr->slot = variable->slot;
      if (variable->slot == kValueSlot || variable->slot == kParamsSlot ||
          variable->slot == kStepSlot) {
        body_->varies = true;
      }
      const bool bare_root =
          variable->slot == kRootSlot && (Peek().kind != Kind::kField || Peek().spaced);
      if (bare_root) body_->varies = true;
      return ParseFields(std::move(expr));
    }
    case Kind::kLeft: {
      ASSIGN_OR_RETURN(ExprPtr inner, ParsePipeline("parenthesized pipeline", depth + 1));
      if (Peek().kind != Kind::kRight) return Unexpected(Peek(), "parenthesized pipeline");
      Next();
      return ParseFields(std::move(inner));
    }
    case Kind::kName: {
      ExprPtr expr = Make(Expr::Kind::kLiteral, token);
      if (token.text == "true" || token.text == "false") {
        expr->literal = token.text == "true";
        return expr;
      }
      if (token.text == "nil") return expr;
      // A function without arguments can be an argument, as in printf "%v" now.
      expr->kind = Expr::Kind::kCall;
      return Finish(token, std::move(expr));
    }
    default:
      return Unexpected(token, where);
  }
}

StatusOr<ExprPtr> Parser::ParseFields(ExprPtr base) {
  bool first = base->kind == Expr::Kind::kDot;
  while (Peek().kind == Kind::kField && (first || !Peek().spaced)) {
    const Token token = Next();
    const bool root = base->kind == Expr::Kind::kDot ||
                      (base->kind == Expr::Kind::kVariable && base->slot == kRootSlot);
    if (root && token.text == "Value") body_->varies = true;
    if (base->kind == Expr::Kind::kVariable && base->slot == kParamsSlot) {
      body_->parameters.push_back(token.text);
    }
    const bool of_labels = (base->kind == Expr::Kind::kVariable && base->slot == kLabelsSlot) ||
                           (base->kind == Expr::Kind::kField && base->field == "Labels" &&
                            !defining_ && base->arguments[0]->kind == Expr::Kind::kVariable &&
                            base->arguments[0]->slot == kRootSlot);
    if (of_labels) {
      const Expr& first_part = base->kind == Expr::Kind::kField ? *base->arguments[0] : *base;
      body_->labels.push_back({token.text, first_part.at, token.after});
    }
    ExprPtr field = Make(Expr::Kind::kField, token);
    field->text = base->text + "." + token.text;
    field->field = token.text;
    field->arguments.push_back(std::move(base));
    base = std::move(field);
    first = false;
  }
  return base;
}

StatusOr<ExprPtr> Parser::ParseNumber(const Token& token) {
  ExprPtr expr = Make(Expr::Kind::kLiteral, token);
  std::string digits = token.text;
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
    if (!good) return Error(token, Cat("bad number syntax: ", Quote(token.text)));
    expr->literal = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
    return expr;
  }
  if (const std::optional<int64_t> i = ParseInt(digits)) {
    expr->literal = *i;
    return expr;
  }
  const bool plausible = magnitude.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  const std::optional<double> d = plausible ? ParseDouble(digits) : std::nullopt;
  if (!d) return Error(token, Cat("bad number syntax: ", Quote(token.text)));
  expr->literal = *d;
  return expr;
}

StatusOr<Template> Template::Parse(std::string_view name, std::string_view text,
                                   ParseProblem* problem) {
  auto body = std::make_shared<TemplateBody>();
  body->name = name;
  if (text.size() > kMaxText) {
    if (problem != nullptr) *problem = {0, Cat("template is longer than ", kMaxText, " bytes")};
    return InvalidArgument(Cat(name, ": template is longer than ", kMaxText, " bytes"));
  }
  // Messages already start with LINE:COL.
  const auto annotate = [&](const Status& status) {
    const std::string_view message = ToStd(status.message());
    if (problem != nullptr) *problem = Locate(text, message);
    return InvalidArgument(Cat(name, ":", message));
  };
  StatusOr<std::vector<Token>> tokens = Tokenize(text);
  if (!tokens.ok()) return annotate(tokens.status());
  if (const Status status = Parser(text, *std::move(tokens), body.get()).Run(); !status.ok()) {
    return annotate(status);
  }
  std::sort(body->parameters.begin(), body->parameters.end());
  body->parameters.erase(std::unique(body->parameters.begin(), body->parameters.end()),
                         body->parameters.end());
  Template out;
  out.body_ = std::move(body);
  return out;
}

bool Template::varies() const { return body_ != nullptr && body_->varies; }
bool Template::constant() const { return body_ == nullptr || body_->constant; }
const std::vector<std::string>& Template::parameters() const {
  static const std::vector<std::string> none;
  return body_ == nullptr ? none : body_->parameters;
}
const std::vector<LabelUse>& Template::labels() const {
  static const std::vector<LabelUse> none;
  return body_ == nullptr ? none : body_->labels;
}
const std::vector<TemplateQuery>& Template::queries() const {
  static const std::vector<TemplateQuery> none;
  return body_ == nullptr ? none : body_->queries;
}

}  // namespace pitwall::templates
