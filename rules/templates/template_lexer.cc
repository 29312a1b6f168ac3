#include "rules/templates/template_lexer.h"

#include <algorithm>
#include <cctype>

#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool IsSpace(char c) { return kSpace.find(c) != std::string_view::npos; }
bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }

void AppendUtf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Token>> Run() {
    bool trim_left = false;
    while (true) {
      const size_t open = text_.find("{{", at_);
      std::string_view piece =
          text_.substr(at_, open == std::string_view::npos ? open : open - at_);
      const bool trim_right = open != std::string_view::npos && open + 3 < text_.size() &&
                              text_[open + 2] == '-' && IsSpace(text_[open + 3]);
      const size_t start = at_;
      if (trim_left) piece = TrimLeft(piece);
      if (trim_right) piece = TrimRight(piece);
      if (!piece.empty()) Push(Token::Kind::kText, std::string(piece), start, start);
      if (open == std::string_view::npos) break;
      at_ = open + (trim_right ? 3 : 2);
      RETURN_IF_ERROR(Action(open, &trim_left));
    }
    Push(Token::Kind::kEnd, "", text_.size(), text_.size());
    return std::move(tokens_);
  }

 private:
  static std::string_view TrimLeft(std::string_view s) {
    s.remove_prefix(std::min(s.find_first_not_of(kSpace), s.size()));
    return s;
  }
  static std::string_view TrimRight(std::string_view s) {
    const size_t last = s.find_last_not_of(kSpace);
    return s.substr(0, last == std::string_view::npos ? 0 : last + 1);
  }
  Status Error(size_t at, std::string_view cause) const {
    return InvalidArgument(Cat(Place(text_, at), ": ", cause));
  }
  void Push(Token::Kind kind, std::string text, size_t at, size_t after) {
    const bool spaced = tokens_.empty() || tokens_.back().after != at;
    tokens_.push_back({kind, std::move(text), spaced, at, after});
  }
  // Returns true if the action ends at the current position, and consumes the end of the action.
  bool Close(bool* trim) {
    if (text_.substr(at_, 2) == "}}") {
      *trim = false;
      at_ += 2;
      return true;
    }
    size_t at = at_;
    while (at < text_.size() && IsSpace(text_[at])) ++at;
    if (at > at_ && text_.substr(at, 3) == "-}}") {
      *trim = true;
      at_ = at + 3;
      return true;
    }
    return false;
  }

  Status Action(size_t open, bool* trim) {
    size_t comment = at_;
    while (comment < text_.size() && IsSpace(text_[comment])) ++comment;
    if (text_.substr(comment, 2) == "/*") {
      const size_t end = text_.find("*/", comment + 2);
      if (end == std::string_view::npos) return Error(open, "unclosed comment");
      at_ = end + 2;
      if (Close(trim)) return OkStatus();
      return Error(open, "comment ends before closing delimiter");
    }
    Push(Token::Kind::kOpen, "", open, at_);
    while (true) {
      const size_t before = at_;
      if (Close(trim)) {
        Push(Token::Kind::kClose, "", before, at_);
        return OkStatus();
      }
      if (at_ >= text_.size()) return Error(open, "unclosed action");
      if (IsSpace(text_[at_])) {
        ++at_;
        continue;
      }
      RETURN_IF_ERROR(One(open));
    }
  }

  Status One(size_t open) {
    const size_t start = at_;
    const char c = text_[at_];
    const auto simple = [&](Token::Kind kind, size_t length) {
      at_ += length;
      Push(kind, std::string(text_.substr(start, length)), start, at_);
      return OkStatus();
    };
    const auto name_end = [&](size_t at) {
      while (at < text_.size() && IsNamePart(text_[at])) ++at;
      return at;
    };
    if (c == '|') return simple(Token::Kind::kPipe, 1);
    if (c == '(') return simple(Token::Kind::kLeft, 1);
    if (c == ')') return simple(Token::Kind::kRight, 1);
    if (c == '=') return simple(Token::Kind::kAssign, 1);
    if (c == ',') return simple(Token::Kind::kComma, 1);
    if (text_.substr(at_, 2) == ":=") return simple(Token::Kind::kDeclare, 2);
    if (c == '"') return Quoted();
    if (c == '`') {
      const size_t end = text_.find('`', at_ + 1);
      if (end == std::string_view::npos) return Error(start, "unterminated raw quoted string");
      at_ = end + 1;
      Push(Token::Kind::kString, std::string(text_.substr(start + 1, end - start - 1)), start, at_);
      return OkStatus();
    }
    if (c == '$') return simple(Token::Kind::kVariable, name_end(at_ + 1) - at_);
    const char following = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool digit_follows = std::isdigit(static_cast<unsigned char>(following)) != 0;
    if (digit || ((c == '+' || c == '-') && (digit_follows || following == '.')) ||
        (c == '.' && digit_follows)) {
      size_t end = at_ + 1;
      while (end < text_.size() && (IsNamePart(text_[end]) || text_[end] == '.' ||
                                    ((text_[end] == '+' || text_[end] == '-') &&
                                     (text_[end - 1] == 'e' || text_[end - 1] == 'E')))) {
        ++end;
      }
      return simple(Token::Kind::kNumber, end - at_);
    }
    if (c == '.') {
      if (!IsNameStart(following)) return simple(Token::Kind::kDot, 1);
      const size_t end = name_end(at_ + 1);
      at_ = end;
      Push(Token::Kind::kField, std::string(text_.substr(start + 1, end - start - 1)), start, end);
      return OkStatus();
    }
    if (IsNameStart(c)) return simple(Token::Kind::kName, name_end(at_) - at_);
    if (c == '}') return Error(open, "unclosed action");
    return Error(start, Cat("unexpected ", Quote(text_.substr(start, 1)), " in action"));
  }

  Status Quoted() {
    const size_t start = at_++;
    std::string out;
    while (true) {
      if (at_ >= text_.size() || text_[at_] == '\n') {
        return Error(start, "unterminated quoted string");
      }
      const char c = text_[at_++];
      if (c == '"') break;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) return Error(start, "unterminated quoted string");
      RETURN_IF_ERROR(Escape(&out));
    }
    Push(Token::Kind::kString, std::move(out), start, at_);
    return OkStatus();
  }

  Status Escape(std::string* out) {
    const size_t start = at_ - 1;
    const char c = text_[at_++];
    constexpr std::string_view kNames = "abfnrtv\\\"'";
    constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\\"'";
    if (const size_t k = kNames.find(c); k != std::string_view::npos && c != '\'') {
      *out += kValues[k];
      return OkStatus();
    }
    const bool octal = c >= '0' && c <= '7';
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : octal ? 3 : 0;
    if (octal) --at_;
    if (digits == 0 || at_ + digits > text_.size()) return Error(start, "bad escape in string");
    uint32_t code = 0;
    for (size_t k = 0; k < digits; ++k) {
      const char d = text_[at_++];
      uint32_t v = 99;
      if (d >= '0' && d <= '9') v = static_cast<uint32_t>(d - '0');
      if (d >= 'a' && d <= 'f') v = static_cast<uint32_t>(d - 'a') + 10;
      if (d >= 'A' && d <= 'F') v = static_cast<uint32_t>(d - 'A') + 10;
      const uint32_t base = octal ? 8 : 16;
      if (v >= base) return Error(start, "bad escape in string");
      code = code * base + v;
    }
    if (c == 'x' || octal) {
      if (code > 0xFF) return Error(start, "bad escape in string");
      *out += static_cast<char>(code);
    } else {
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return Error(start, "bad escape in string");
      }
      AppendUtf8(*out, code);
    }
    return OkStatus();
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::string Place(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return Cat(line, ":", column);
}

StatusOr<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

}  // namespace pitwall::templates
