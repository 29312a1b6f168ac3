#include "rules/lang/parser_clauses.h"

#include <cmath>

#include "rules/lang/parser_tables.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

bool FillValue(TokenCursor* cursor, double* value) {
  if (!cursor->Expect(TokenKind::kLeftParen, "fill modifier", "\"(\"")) return false;
  const bool negative = cursor->Is(TokenKind::kSub);
  if (negative || cursor->Is(TokenKind::kAdd)) cursor->Take();
  if (!cursor->Is(TokenKind::kNumber) && !cursor->Is(TokenKind::kDuration))
    return cursor->Unexpected("fill modifier", "a number");
  *value = negative ? -cursor->Peek().number : cursor->Peek().number;
  cursor->Take();
  return cursor->Expect(TokenKind::kRightParen, "fill modifier", "\")\"");
}

bool WholeNumber(TokenCursor* cursor, std::string_view what, double least, int64_t* number) {
  if (!cursor->Is(TokenKind::kNumber)) return cursor->Unexpected("window", "a number of samples");
  const Token token = cursor->Take();
  if (!(token.number >= least && token.number <= 1e9) || token.number != std::floor(token.number)) {
    return cursor->Fail(token.span,
                        Cat(what, " must be a whole number from ", FormatDouble(least), " to 1e9"));
  }
  *number = static_cast<int64_t>(token.number);
  return true;
}

bool SampleCount(TokenCursor* cursor, int64_t* count) {
  if (!WholeNumber(cursor, "a number of samples", 1, count)) return false;
  if (cursor->AcceptWord("samples") || cursor->AcceptWord("sample")) return true;
  return cursor->Unexpected("window", "\"samples\" or \"]\"");
}

}  // namespace

bool ParseWindowClause(TokenCursor* cursor, WindowClause* clause) {
  if (cursor->AcceptWord("attempt")) {
    clause->syntax = WindowSyntax::kAttempt;
    return true;
  }
  if (cursor->AcceptWord("first")) {
    clause->syntax = WindowSyntax::kFirst;
    if (!SampleCount(cursor, &clause->samples)) return false;
    return !cursor->AcceptWord("after") ||
           WholeNumber(cursor, "the number of samples to skip", 0, &clause->skipped);
  }
  if (cursor->Is(TokenKind::kParameter) && cursor->Peek(1).kind == TokenKind::kIdentifier) {
    clause->syntax = WindowSyntax::kSamples;
    clause->samples_parameter = cursor->Take().text;
    if (cursor->AcceptWord("samples") || cursor->AcceptWord("sample")) return true;
    return cursor->Unexpected("window", "\"samples\"");
  }
  if (cursor->Is(TokenKind::kNumber) && cursor->Peek(1).kind == TokenKind::kIdentifier) {
    clause->syntax = WindowSyntax::kSamples;
    return SampleCount(cursor, &clause->samples);
  }
  return ParseDurationLiteral(cursor, "subquery or range selector", /*signed_allowed=*/false,
                              &clause->range);
}

bool ParseGroupingLabels(TokenCursor* cursor, std::vector<std::string>* labels) {
  if (!cursor->Expect(TokenKind::kLeftParen, "grouping opts", "\"(\"")) return false;
  while (!cursor->Accept(TokenKind::kRightParen)) {
    if (!cursor->Is(TokenKind::kIdentifier) && !cursor->Is(TokenKind::kString))
      return cursor->Unexpected("grouping opts", "label");
    if (cursor->Peek().text.empty())
      return cursor->Fail(cursor->Peek().span, "label name must not be empty");
    labels->push_back(cursor->Take().text);
    if (cursor->Accept(TokenKind::kComma)) continue;
    if (!cursor->Is(TokenKind::kRightParen))
      return cursor->Unexpected("grouping opts", "\",\" or \")\"");
  }
  return true;
}

bool ParseBinaryModifiers(TokenCursor* cursor, BinaryExpr* binary) {
  if (cursor->AcceptWord("bool")) binary->return_bool = true;
  VectorMatching& matching = binary->matching;
  if (cursor->IsWord("on") || cursor->IsWord("ignoring")) {
    matching.written = true;
    matching.on = cursor->IsWord("on");
    cursor->Take();
    if (!ParseGroupingLabels(cursor, &matching.labels)) return false;
    if (cursor->IsWord("group_left") || cursor->IsWord("group_right")) {
      matching.group = cursor->IsWord("group_left") ? GroupSide::kLeft : GroupSide::kRight;
      cursor->Take();
      if (cursor->Is(TokenKind::kLeftParen) && !ParseGroupingLabels(cursor, &matching.include))
        return false;
    }
  }
  // fill, fill_left, and fill_right are metric names unless a parenthesis follows.
  while (cursor->Is(TokenKind::kIdentifier) && cursor->Peek(1).kind == TokenKind::kLeftParen) {
    const bool both = cursor->IsWord("fill");
    const bool left = both || cursor->IsWord("fill_left");
    const bool right = both || cursor->IsWord("fill_right");
    if (!left && !right) break;
    const Token word = cursor->Take();
    double value = 0;
    if (!FillValue(cursor, &value)) return false;
    if ((left && matching.fill_left) || (right && matching.fill_right)) {
      return cursor->Fail(word.span, "fill value must not be set twice for the same side");
    }
    if (left) matching.fill_left = value;
    if (right) matching.fill_right = value;
  }
  return true;
}

bool ParseDurationLiteral(TokenCursor* cursor, std::string_view context, bool signed_allowed,
                          Duration* duration) {
  duration->span.begin = cursor->Peek().span.begin;
  const bool sign = cursor->Is(TokenKind::kSub) || cursor->Is(TokenKind::kAdd);
  const bool negative = sign && cursor->Take().kind == TokenKind::kSub;
  if (cursor->Is(TokenKind::kParameter)) {
    return cursor->Fail(
        cursor->Peek().span,
        "a parameter cannot be a duration: windows and offsets are fixed when the rule "
        "is compiled");
  }
  if (cursor->Is(TokenKind::kLeftParen) || IsDurationFunction(cursor->Peek(), cursor->Peek(1))) {
    return cursor->Unsupported(cursor->Peek().span, kDurationArithmetic);
  }
  if (!cursor->Is(TokenKind::kNumber) && !cursor->Is(TokenKind::kDuration))
    return cursor->Unexpected(context, "number or duration");
  const Token literal = cursor->Take();
  duration->span.end = cursor->last_end();
  duration->plain = literal.kind == TokenKind::kNumber;
  const double nanos = std::round(literal.number * 1e9);
  if (!(std::fabs(nanos) < 9.2e18)) return cursor->Fail(duration->span, "duration out of range");
  duration->nanos = static_cast<int64_t>(nanos) * (negative ? -1 : 1);
  if (!signed_allowed && FindOperator(cursor->Peek()))
    return cursor->Unsupported(cursor->Peek().span, kDurationArithmetic);
  if (!signed_allowed && duration->nanos <= 0)
    return cursor->Fail(duration->span, "duration must be greater than 0");
  return true;
}

bool ParseMatcher(TokenCursor* cursor, SelectorExpr* selector) {
  if (!cursor->Is(TokenKind::kIdentifier) && !cursor->Is(TokenKind::kString)) {
    return cursor->Unexpected("label matching", "identifier or \"}\"");
  }
  const Token name = cursor->Take();
  if (name.text.empty()) return cursor->Fail(name.span, "name must not be empty");
  const std::optional<MatchOp> op = FindMatchOp(cursor->Peek().kind);
  if (!op) {
    if (name.kind == TokenKind::kIdentifier)
      return cursor->Unexpected("label matching", "label matching operator");
    // The metric name is inside the braces: {"name.of.metric"}.
    if (!selector->name.empty()) {
      return cursor->Fail(name.span, Cat("metric name must not be set twice: ",
                                         Quote(selector->name), " or ", Quote(name.text)));
    }
    selector->name = name.text;
    selector->name_span = name.span;
    return true;
  }
  cursor->Take();
  const bool parameter = cursor->Is(TokenKind::kParameter);
  if (!parameter && !cursor->Is(TokenKind::kString))
    return cursor->Unexpected("label matching", "string");
  LabelMatcher matcher;
  matcher.label = name.text;
  matcher.op = *op;
  (parameter ? matcher.parameter : matcher.value) = cursor->Take().text;
  matcher.span = {name.span.begin, cursor->last_end()};
  selector->matchers.push_back(std::move(matcher));
  return true;
}

}  // namespace pitwall::lang
