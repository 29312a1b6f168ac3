// Pratt parser for Prometheus 3's grammar. Operator precedence, allowed names, and positions of
// modifiers follow generated_parser.y.
#include "rules/lang/parser.h"

#include <algorithm>
#include <cmath>

#include "rules/lang/lexer.h"
#include "rules/lang/parser_clauses.h"
#include "rules/lang/parser_tables.h"
#include "rules/lang/token_cursor.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

class Parser : private TokenCursor {
 public:
  Parser(const Source& source, std::vector<Token> tokens, Diagnostics* diagnostics)
      : TokenCursor(source, std::move(tokens), diagnostics) {}

  ExprPtr Run() {
    if (Is(TokenKind::kEnd)) {
      Fail(Peek().span, "no expression found in input");
      return nullptr;
    }
    ExprPtr expr = Binary(1);
    if (expr != nullptr && !Is(TokenKind::kEnd)) {
      Unexpected("", "");
      return nullptr;
    }
    return failed() ? nullptr : std::move(expr);
  }

 private:
  template <typename T>
  ExprPtr Make(uint32_t begin, T node) {
    auto expr = std::make_unique<Expr>();
    expr->span = {begin, last_end()};
    expr->node = std::move(node);
    for (const Expr* child : Children(*expr)) expr->depth = std::max(expr->depth, child->depth + 1);
    if (expr->depth > kMaxTreeDepth) {
      Fail(expr->span, Cat("the expression is nested deeper than ", kMaxTreeDepth, " levels"));
      return nullptr;
    }
    return expr;
  }

  // Limits the parser's own recursion.
  class Nesting {
   public:
    explicit Nesting(Parser* parser)
        : parser_(parser), ok_(++parser->nesting_ <= kMaxExpressionDepth) {
      if (!ok_)
        parser->Fail(parser->Peek().span,
                     Cat("nested deeper than ", kMaxExpressionDepth, " levels"));
    }
    ~Nesting() { --parser_->nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool ok() const { return ok_; }

   private:
    Parser* parser_;
    bool ok_;
  };

  ExprPtr Binary(int least_level) {
    const Nesting nesting(this);
    if (!nesting.ok()) return nullptr;
    const uint32_t begin = Peek().span.begin;
    ExprPtr left = Unary();
    while (left != nullptr) {
      const std::optional<Operator> op = FindOperator(Peek());
      if (!op || op->level < least_level) break;
      BinaryExpr binary;
      binary.op = op->op;
      binary.op_span = Peek().span;
      Take();
      if (!ParseBinaryModifiers(this, &binary)) return nullptr;
      binary.op_span.end = last_end();
      binary.right = Binary(op->right_associative ? op->level : op->level + 1);
      if (binary.right == nullptr) return nullptr;
      binary.left = std::move(left);
      left = Make(begin, std::move(binary));
    }
    return left;
  }

  ExprPtr Unary() {
    if (!Is(TokenKind::kAdd) && !Is(TokenKind::kSub)) return Postfix();
    const Token sign = Take();
    const bool negative = sign.kind == TokenKind::kSub;
    // A sign has the precedence of *, so -a ^ b is -(a ^ b).
    ExprPtr operand = Binary(kMultiplyLevel + 1);
    if (operand == nullptr) return nullptr;
    if (auto* number = std::get_if<NumberExpr>(&operand->node)) {
      if (negative) number->value = -number->value;
      operand->span.begin = sign.span.begin;
      return operand;
    }
    return Make(sign.span.begin, UnaryExpr{negative, std::move(operand)});
  }

  ExprPtr Postfix() {
    const uint32_t begin = Peek().span.begin;
    ExprPtr expr = Primary();
    while (expr != nullptr) {
      if (Is(TokenKind::kLeftBracket)) {
        expr = Window(begin, std::move(expr));
      } else if (Is(TokenKind::kAt)) {
        if (!At(expr.get())) return nullptr;
      } else if (IsWord("offset")) {
        if (!Offset(expr.get())) return nullptr;
      } else if (IsWord("anchored") || IsWord("smoothed")) {
        if (!Extended(expr.get())) return nullptr;
      } else {
        break;
      }
      if (expr != nullptr) expr->span.end = last_end();
    }
    return expr;
  }

  static Modifiers* ModifiersOf(Expr* expr) {
    if (auto* selector = std::get_if<SelectorExpr>(&expr->node)) return &selector->modifiers;
    if (auto* subquery = std::get_if<SubqueryExpr>(&expr->node)) return &subquery->modifiers;
    return nullptr;
  }

  bool Offset(Expr* expr) {
    const Token word = Take();
    Duration duration;
    if (!ParseDurationLiteral(this, "offset", /*signed_allowed=*/true, &duration)) return false;
    Modifiers* modifiers = ModifiersOf(expr);
    if (modifiers == nullptr) {
      return Fail(word.span,
                  "offset modifier must be preceded by an instant vector selector or range vector "
                  "selector or "
                  "a subquery");
    }
    if (modifiers->offset) return Fail(word.span, "offset may not be set multiple times");
    modifiers->offset = duration;
    return true;
  }

  bool At(Expr* expr) {
    AtModifier at;
    at.span.begin = Take().span.begin;
    if ((IsWord("start") || IsWord("end")) && Peek(1).kind == TokenKind::kLeftParen) {
      at.kind = IsWord("start") ? AtKind::kStart : AtKind::kEnd;
      Take();
      Take();
      if (!Expect(TokenKind::kRightParen, "@", "\")\"")) return false;
    } else {
      const bool negative = Is(TokenKind::kSub);
      if (negative || Is(TokenKind::kAdd)) Take();
      if (!Is(TokenKind::kNumber) && !Is(TokenKind::kDuration)) return Unexpected("@", "timestamp");
      at.seconds = negative ? -Peek().number : Peek().number;
      const Token number = Take();
      if (!std::isfinite(at.seconds) || std::fabs(at.seconds) >= 9.2e15) {
        return Fail(number.span, "timestamp out of bounds for @ modifier");
      }
    }
    at.span.end = last_end();
    Modifiers* modifiers = ModifiersOf(expr);
    if (modifiers == nullptr) {
      return Fail(at.span,
                  "@ modifier must be preceded by an instant vector selector or range vector "
                  "selector or a subquery");
    }
    if (modifiers->at) return Fail(at.span, "@ may not be set multiple times");
    modifiers->at = at;
    return true;
  }

  bool Extended(Expr* expr) {
    const bool anchored = IsWord("anchored");
    const Token word = Take();
    auto* selector = std::get_if<SelectorExpr>(&expr->node);
    if (selector == nullptr) {
      return Fail(
          word.span,
          Cat(word.text, " modifier must be preceded by a range or instant vector selector"));
    }
    if (selector->anchored || selector->smoothed) {
      return Fail(word.span, "only one of anchored and smoothed may be set, and only once");
    }
    (anchored ? selector->anchored : selector->smoothed) = true;
    return true;
  }

  ExprPtr Window(uint32_t begin, ExprPtr inner) {
    const uint32_t bracket = Take().span.begin;
    auto* selector = std::get_if<SelectorExpr>(&inner->node);
    WindowClause clause;
    if (!ParseWindowClause(this, &clause)) return nullptr;
    if (clause.syntax == WindowSyntax::kDuration && Accept(TokenKind::kColon))
      return Subquery(begin, bracket, clause.range, std::move(inner));
    if (!Expect(TokenKind::kRightBracket, "subquery or range", "\":\" or \"]\"")) return nullptr;

    const Span window{bracket, last_end()};
    std::string_view wrong;
    if (selector == nullptr || selector->window != WindowSyntax::kNone) {
      wrong = "ranges only allowed for vector selectors";
    } else if (selector->modifiers.offset) {
      wrong = "no offset modifiers allowed before range";
    } else if (selector->modifiers.at) {
      wrong = "no @ modifiers allowed before range";
    }
    if (!wrong.empty()) {
      Fail(window, wrong);
      return nullptr;
    }
    selector->window = clause.syntax;
    selector->range = clause.range;
    selector->samples = clause.samples;
    selector->skipped = clause.skipped;
    selector->samples_parameter = clause.samples_parameter;
    selector->window_span = window;
    return inner;
  }

  ExprPtr Subquery(uint32_t begin, uint32_t bracket, const Duration& range, ExprPtr inner) {
    SubqueryExpr subquery;
    subquery.range = range;
    if (!Is(TokenKind::kRightBracket)) {
      Duration step;
      if (!ParseDurationLiteral(this, "subquery selector", /*signed_allowed=*/false, &step))
        return nullptr;
      subquery.step = step;
    }
    if (!Expect(TokenKind::kRightBracket, "subquery selector", "\"]\"")) return nullptr;
    subquery.window_span = {bracket, last_end()};
    subquery.expr = std::move(inner);
    return Make(begin, std::move(subquery));
  }

  ExprPtr Primary() {
    const Token& token = Peek();
    const uint32_t begin = token.span.begin;
    switch (token.kind) {
      case TokenKind::kNumber:
      case TokenKind::kDuration: {
        const Token number = Take();
        return Make(begin, NumberExpr{number.number, number.kind == TokenKind::kDuration});
      }
      case TokenKind::kString:
        return Make(begin, StringExpr{Take().text});
      case TokenKind::kParameter:
        return Make(begin, ParameterExpr{Take().text});
      case TokenKind::kLeftParen: {
        Take();
        ExprPtr inner = Binary(1);
        if (inner == nullptr || !Expect(TokenKind::kRightParen, "parentheses", "\")\""))
          return nullptr;
        return Make(begin, ParenExpr{std::move(inner)});
      }
      case TokenKind::kLeftBrace:
        return Selector(begin, SelectorExpr{});
      case TokenKind::kIdentifier:
        return Named();
      default:
        Unexpected("", "an expression");
        return nullptr;
    }
  }

  // Parses an aggregation, a call, or a selector with a name.
  ExprPtr Named() {
    const uint32_t begin = Peek().span.begin;
    const TokenKind next = Peek(1).kind;
    if (const std::optional<AggregateOp> op = FindAggregate(Peek().text)) {
      const bool grouped = next == TokenKind::kIdentifier &&
                           (IsKeyword(Peek(1).text, "by") || IsKeyword(Peek(1).text, "without"));
      if (next == TokenKind::kLeftParen || grouped) return Aggregate(begin, *op);
    }
    if (IsReserved(Peek().text)) {
      Unexpected("", "an expression");
      return nullptr;
    }
    if (next == TokenKind::kLeftParen) return Call(begin);
    SelectorExpr selector;
    selector.name_span = Peek().span;
    selector.name = Take().text;
    return Selector(begin, std::move(selector));
  }

  bool Arguments(std::vector<ExprPtr>* arguments, std::string_view context) {
    if (!Expect(TokenKind::kLeftParen, context, "\"(\"")) return false;
    if (Accept(TokenKind::kRightParen)) return true;
    while (true) {
      if (Is(TokenKind::kRightParen))
        return Fail(Peek().span, "trailing commas not allowed in function call args");
      ExprPtr argument = Binary(1);
      if (argument == nullptr) return false;
      arguments->push_back(std::move(argument));
      if (Accept(TokenKind::kRightParen)) return true;
      if (!Expect(TokenKind::kComma, context, "\",\" or \")\"")) return false;
    }
  }

  ExprPtr Call(uint32_t begin) {
    CallExpr call;
    call.name_span = Peek().span;
    call.function = Take().text;
    if (!Arguments(&call.arguments, "function call")) return nullptr;
    return Make(begin, std::move(call));
  }

  bool AggregateModifier(AggregateExpr* aggregate) {
    aggregate->grouping = IsWord("by") ? Grouping::kBy : Grouping::kWithout;
    Take();
    return ParseGroupingLabels(this, &aggregate->labels);
  }

  ExprPtr Aggregate(uint32_t begin, AggregateOp op) {
    AggregateExpr aggregate;
    aggregate.op = op;
    aggregate.op_span = Take().span;
    if ((IsWord("by") || IsWord("without")) && !AggregateModifier(&aggregate)) return nullptr;
    std::vector<ExprPtr> arguments;
    if (!Arguments(&arguments, "aggregation")) return nullptr;
    if (aggregate.grouping == Grouping::kNone && (IsWord("by") || IsWord("without")) &&
        !AggregateModifier(&aggregate)) {
      return nullptr;
    }
    const size_t expected = TakesParameter(op) ? 2 : 1;
    if (arguments.size() != expected) {
      Fail({begin, last_end()},
           arguments.empty()
               ? std::string("no arguments for aggregate expression provided")
               : Cat("wrong number of arguments for aggregate expression provided, expected ",
                     expected, ", got ", arguments.size()));
      return nullptr;
    }
    if (expected == 2) aggregate.parameter = std::move(arguments[0]);
    aggregate.expr = std::move(arguments[expected - 1]);
    return Make(begin, std::move(aggregate));
  }

  ExprPtr Selector(uint32_t begin, SelectorExpr selector) {
    if (Accept(TokenKind::kLeftBrace)) {
      while (!Accept(TokenKind::kRightBrace)) {
        if (!ParseMatcher(this, &selector)) return nullptr;
        if (Accept(TokenKind::kComma)) continue;
        if (!Is(TokenKind::kRightBrace)) {
          Unexpected("label matching", "\",\" or \"}\"");
          return nullptr;
        }
      }
    }
    return Make(begin, std::move(selector));
  }

  int nesting_ = 0;
};

}  // namespace

ExprPtr ParseExpr(const Source& source, Diagnostics* diagnostics) {
  if (source.text().size() > kMaxExpressionBytes) {
    diagnostics->Error(source, {},
                       Cat("the expression has ", source.text().size(), " bytes, at most ",
                           kMaxExpressionBytes, " are allowed"));
    return nullptr;
  }
  std::vector<Token> tokens;
  if (!Lex(source, &tokens, diagnostics)) return nullptr;
  return Parser(source, std::move(tokens), diagnostics).Run();
}

}  // namespace pitwall::lang
