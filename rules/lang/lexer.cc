#include "rules/lang/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "rules/lang/unquote.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlpha(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsAlnum(char c) { return IsAlpha(c) || IsDigit(c); }

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

// Parses Go's number syntax as accepted by PromQL's lexer: decimal, 0x hex, 0 octal, and _ between
// digits.
std::optional<double> ParseNumber(std::string_view word) {
  const bool hex = StartsWith(word, "0x") || StartsWith(word, "0X");
  const auto is_digit = [&](char c) {
    return IsDigit(c) || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
  };
  std::string digits;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '_') {
      digits.push_back(word[i]);
      continue;
    }
    const bool after = i > 0 && (is_digit(word[i - 1]) || (hex && i == 2));
    const bool before = i + 1 < word.size() && is_digit(word[i + 1]);
    if (!after || !before) return std::nullopt;
  }
  int base = 10;
  std::string_view integer = digits;
  if (hex) {
    base = 16;
    integer.remove_prefix(2);
    if (integer.empty()) return std::nullopt;
  } else if (integer.size() > 1 && integer[0] == '0') {
    base = 8;
  }
  int64_t whole = 0;
  const char* end = integer.data() + integer.size();
  const auto [ptr, ec] = std::from_chars(integer.data(), end, whole, base);
  if (ec == std::errc() && ptr == end && !StartsWith(integer, "-"))
    return static_cast<double>(whole);
  if (base == 16) {
    if (ec != std::errc::result_out_of_range || ptr != end) return std::nullopt;
    double value = 0;
    std::from_chars(integer.data(), end, value, std::chars_format::hex);
    return std::isinf(value) ? std::nullopt : std::optional<double>(value);
  }
  if (!std::all_of(digits.begin(), digits.end(), [](char c) {
        return IsDigit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
      })) {
    return std::nullopt;
  }
  const std::optional<double> value = ParseDouble(digits);
  return value && std::isinf(*value) ? std::nullopt : value;  // out of range
}

class Lexer {
 public:
  Lexer(const Source& source, std::vector<Token>* tokens, Diagnostics* diagnostics)
      : source_(source), text_(source.text()), tokens_(tokens), diagnostics_(diagnostics) {}

  bool Run() {
    if (const size_t bad = yaml::FindInvalidUtf8(text_); bad != std::string_view::npos) {
      return Fail(bad, bad + 1, "not valid UTF-8");
    }
    while (true) {
      SkipBlanks();
      if (at_ == text_.size()) {
        if (in_braces_) return Fail(at_, at_, "unexpected end of input inside braces");
        Emit(TokenKind::kEnd, at_);
        return true;
      }
      if (!Next()) return false;
    }
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool Fail(size_t begin, size_t end, std::string_view message) {
    diagnostics_->Error(source_, {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)},
                        message);
    return false;
  }

  Token& Emit(TokenKind kind, size_t begin) {
    Token token;
    token.kind = kind;
    token.span = {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)};
    tokens_->push_back(std::move(token));
    return tokens_->back();
  }

  bool Punctuation(TokenKind kind, size_t length) {
    const size_t begin = at_;
    at_ += length;
    Emit(kind, begin);
    return true;
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (IsSpace(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      } else {
        return;
      }
    }
  }

  bool Next() {
    const char c = Peek();
    if (IsAlpha(c) || (c == ':' && !in_braces_ && !in_brackets_)) return Identifier();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return NumberOrDuration();
    switch (c) {
      case '"':
      case '\'':
      case '`':
        return String();
      case '$':
        return Parameter();
      case '(':
        return Punctuation(TokenKind::kLeftParen, 1);
      case ')':
        return Punctuation(TokenKind::kRightParen, 1);
      case '{':
        if (in_braces_) return Fail(at_, at_ + 1, "unexpected '{' inside braces");
        in_braces_ = true;
        return Punctuation(TokenKind::kLeftBrace, 1);
      case '}':
        in_braces_ = false;
        return Punctuation(TokenKind::kRightBrace, 1);
      case '[':
        if (in_brackets_) return Fail(at_, at_ + 1, "unexpected '[' inside brackets");
        in_brackets_ = true;
        return Punctuation(TokenKind::kLeftBracket, 1);
      case ']':
        in_brackets_ = false;
        return Punctuation(TokenKind::kRightBracket, 1);
      case ',':
        return Punctuation(TokenKind::kComma, 1);
      case ':':
        return Punctuation(TokenKind::kColon, 1);
      case '@':
        return Punctuation(TokenKind::kAt, 1);
      case '+':
        return Punctuation(TokenKind::kAdd, 1);
      case '-':
        return Punctuation(TokenKind::kSub, 1);
      case '*':
        return Punctuation(TokenKind::kMul, 1);
      case '/':
        return Punctuation(TokenKind::kDiv, 1);
      case '%':
        return Punctuation(TokenKind::kMod, 1);
      case '^':
        return Punctuation(TokenKind::kPow, 1);
      case '=':
        if (Peek(1) == '=' && !in_braces_) return Punctuation(TokenKind::kEqual, 2);
        if (Peek(1) == '~') return Punctuation(TokenKind::kRegex, 2);
        return Punctuation(TokenKind::kAssign, 1);
      case '!':
        if (Peek(1) == '=') return Punctuation(TokenKind::kNotEqual, 2);
        if (Peek(1) == '~') return Punctuation(TokenKind::kNotRegex, 2);
        return Fail(at_, at_ + 1, "unexpected character '!'");
      case '<':
        if (Peek(1) == '=') return Punctuation(TokenKind::kLessEqual, 2);
        if (Peek(1) == '/') return Punctuation(TokenKind::kTrimUpper, 2);
        return Punctuation(TokenKind::kLess, 1);
      case '>':
        if (Peek(1) == '=') return Punctuation(TokenKind::kGreaterEqual, 2);
        if (Peek(1) == '/') return Punctuation(TokenKind::kTrimLower, 2);
        return Punctuation(TokenKind::kGreater, 1);
      default:
        break;
    }
    size_t end = at_ + 1;  // includes the whole UTF-8 character
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    return Fail(at_, end, Cat("unexpected character ", Quote(text_.substr(at_, end - at_))));
  }

  bool Identifier() {
    const size_t begin = at_;
    const bool colon = !in_braces_ && !in_brackets_;
    while (IsAlnum(Peek()) || (colon && Peek() == ':')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (!in_braces_ && (EqualsIgnoringCase(word, "inf") || EqualsIgnoringCase(word, "nan"))) {
      Emit(TokenKind::kNumber, begin).number = *ParseDouble(word);
      return true;
    }
    Emit(TokenKind::kIdentifier, begin).text = word;
    return true;
  }

  bool NumberOrDuration() {
    const size_t begin = at_;
    const bool hex = Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X');
    while (IsAlnum(Peek()) || Peek() == '.') {
      const bool exponent = !hex && (Peek() == 'e' || Peek() == 'E');
      ++at_;
      if (exponent && (Peek() == '+' || Peek() == '-')) ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (const std::optional<double> number = ParseNumber(word)) {
      Emit(TokenKind::kNumber, begin).number = *number;
      return true;
    }
    const StatusOr<int64_t> nanos = ParseDuration(word);
    if (nanos.ok()) {
      Emit(TokenKind::kDuration, begin).number = static_cast<double>(*nanos) / 1e9;
      return true;
    }
    const bool digits_and_units =
        std::all_of(word.begin(), word.end(), IsAlnum) && !hex &&
        word.find_first_not_of("0123456789ywdhms") == std::string_view::npos;
    return Fail(begin, at_,
                digits_and_units ? std::string(ToStd(nanos.status().message()))
                                 : Cat("bad number or duration: ", Quote(word)));
  }

  bool String() {
    const size_t begin = at_;
    std::string value;
    size_t error_at = 0;
    std::string error;
    const size_t length = Unquote(text_.substr(begin), &value, &error_at, &error);
    if (length == 0) return Fail(begin + error_at, begin + error_at + 1, error);
    at_ += length;
    Emit(TokenKind::kString, begin).text = std::move(value);
    return true;
  }

  bool Parameter() {
    const size_t begin = at_++;
    if (!IsAlpha(Peek())) return Fail(begin, at_, "expected a parameter name after '$'");
    while (IsAlnum(Peek())) ++at_;
    Emit(TokenKind::kParameter, begin).text = text_.substr(begin + 1, at_ - begin - 1);
    return true;
  }

  const Source& source_;
  std::string_view text_;
  std::vector<Token>* tokens_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  bool in_braces_ = false;
  bool in_brackets_ = false;
};

}  // namespace

bool Lex(const Source& source, std::vector<Token>* tokens, Diagnostics* diagnostics) {
  return Lexer(source, tokens, diagnostics).Run();
}

bool IsPlainLabelName(std::string_view name) {
  return !name.empty() && IsAlpha(name[0]) && std::all_of(name.begin(), name.end(), IsAlnum);
}

bool IsPlainMetricName(std::string_view name) {
  return !name.empty() && (IsAlpha(name[0]) || name[0] == ':') &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsAlnum(c) || c == ':'; });
}

}  // namespace pitwall::lang
