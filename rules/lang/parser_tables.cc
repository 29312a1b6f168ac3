#include "rules/lang/parser_tables.h"

#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

std::string Lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

bool IsKeyword(std::string_view word, std::string_view lower) {
  return word.size() == lower.size() && Lower(word) == lower;
}

std::optional<Operator> FindOperator(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEqual:
      return Operator{BinaryOp::kEq, 3, false};
    case TokenKind::kNotEqual:
      return Operator{BinaryOp::kNe, 3, false};
    case TokenKind::kGreater:
      return Operator{BinaryOp::kGt, 3, false};
    case TokenKind::kLess:
      return Operator{BinaryOp::kLt, 3, false};
    case TokenKind::kGreaterEqual:
      return Operator{BinaryOp::kGe, 3, false};
    case TokenKind::kLessEqual:
      return Operator{BinaryOp::kLe, 3, false};
    case TokenKind::kTrimUpper:
      return Operator{BinaryOp::kTrimUpper, 3, false};
    case TokenKind::kTrimLower:
      return Operator{BinaryOp::kTrimLower, 3, false};
    case TokenKind::kAdd:
      return Operator{BinaryOp::kAdd, 4, false};
    case TokenKind::kSub:
      return Operator{BinaryOp::kSub, 4, false};
    case TokenKind::kMul:
      return Operator{BinaryOp::kMul, kMultiplyLevel, false};
    case TokenKind::kDiv:
      return Operator{BinaryOp::kDiv, kMultiplyLevel, false};
    case TokenKind::kMod:
      return Operator{BinaryOp::kMod, kMultiplyLevel, false};
    case TokenKind::kPow:
      return Operator{BinaryOp::kPow, 6, true};
    case TokenKind::kIdentifier:
      break;
    default:
      return std::nullopt;
  }
  const std::string word = token.text.size() <= 6 ? Lower(token.text) : std::string();
  if (word == "or") return Operator{BinaryOp::kOr, 1, false};
  if (word == "and") return Operator{BinaryOp::kAnd, 2, false};
  if (word == "unless") return Operator{BinaryOp::kUnless, 2, false};
  if (word == "atan2") return Operator{BinaryOp::kAtan2, kMultiplyLevel, false};
  return std::nullopt;
}

std::optional<AggregateOp> FindAggregate(std::string_view word) {
  const std::string lower = Lower(word);
  for (int i = 0; i <= static_cast<int>(AggregateOp::kCountValues); ++i) {
    const auto op = static_cast<AggregateOp>(i);
    if (OpText(op) == lower) return op;
  }
  return std::nullopt;
}

std::optional<MatchOp> FindMatchOp(TokenKind kind) {
  switch (kind) {
    case TokenKind::kAssign:
      return MatchOp::kEqual;
    case TokenKind::kNotEqual:
      return MatchOp::kNotEqual;
    case TokenKind::kRegex:
      return MatchOp::kRegex;
    case TokenKind::kNotRegex:
      return MatchOp::kNotRegex;
    default:
      return std::nullopt;
  }
}

bool IsReserved(std::string_view word) {
  constexpr std::string_view kReserved[] = {"bool",       "on",          "ignoring",
                                            "group_left", "group_right", "atan2"};
  for (const std::string_view reserved : kReserved) {
    if (IsKeyword(word, reserved)) return true;
  }
  return false;
}

bool IsDurationFunction(const Token& word, const Token& next) {
  if (word.kind != TokenKind::kIdentifier || next.kind != TokenKind::kLeftParen) return false;
  constexpr std::string_view kFunctions[] = {"step", "range", "min", "max", "min_of", "max_of"};
  for (const std::string_view function : kFunctions) {
    if (IsKeyword(word.text, function)) return true;
  }
  return false;
}

std::string Describe(const Token& token, const Source& source) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "end of input";
    case TokenKind::kIdentifier:
      return Cat("identifier ", Quote(token.text));
    case TokenKind::kNumber:
      return Cat("number ", Quote(source.Text(token.span)));
    case TokenKind::kDuration:
      return Cat("duration ", Quote(source.Text(token.span)));
    case TokenKind::kString:
      return Cat("string ", source.Text(token.span));
    case TokenKind::kParameter:
      return Cat("parameter $", token.text);
    default:
      return Quote(source.Text(token.span));
  }
}

}  // namespace pitwall::lang
