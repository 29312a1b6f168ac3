#include "rules/lang/unquote.h"

#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

std::string_view Simple(char c) {
  switch (c) {
    case 'a':
      return "\a";
    case 'b':
      return "\b";
    case 'f':
      return "\f";
    case 'n':
      return "\n";
    case 'r':
      return "\r";
    case 't':
      return "\t";
    case 'v':
      return "\v";
    case '\\':
      return "\\";
    default:
      return "";
  }
}

}  // namespace

void AppendUtf8(uint32_t code, std::string* out) {
  const auto byte = [&](uint32_t b) { out->push_back(static_cast<char>(b)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

size_t Unquote(std::string_view text, std::string* value, size_t* error_at, std::string* error) {
  const auto fail = [&](size_t at, std::string_view what) {
    *error_at = at;
    *error = what;
    return size_t{0};
  };
  const char quote = text[0];
  if (quote == '`') {
    const size_t end = text.find('`', 1);
    if (end == std::string_view::npos) return fail(0, "unterminated raw string");
    *value = text.substr(1, end - 1);
    return end + 1;
  }
  size_t at = 1;
  while (true) {
    if (at == text.size() || text[at] == '\n') return fail(0, "unterminated quoted string");
    const char c = text[at];
    if (c == quote) return at + 1;
    if (c != '\\') {
      value->push_back(c);
      ++at;
      continue;
    }
    const size_t escape = at++;
    if (at == text.size()) return fail(escape, "escape sequence not terminated");
    const char kind = text[at];
    if (kind == quote) {
      value->push_back(quote);
      ++at;
      continue;
    }
    if (const std::string_view simple = Simple(kind); !simple.empty()) {
      value->append(simple);
      ++at;
      continue;
    }
    int digits = 0;
    uint32_t base = 16;
    uint32_t most = 0x10ffff;
    if (kind >= '0' && kind <= '7') {
      digits = 3, base = 8, most = 255;
    } else if (kind == 'x') {
      digits = 2, most = 255, ++at;
    } else if (kind == 'u') {
      digits = 4, ++at;
    } else if (kind == 'U') {
      digits = 8, ++at;
    } else {
      return fail(escape, Cat("unknown escape sequence \\", std::string_view(&kind, 1)));
    }
    uint64_t code = 0;
    for (int i = 0; i < digits; ++i, ++at) {
      if (at == text.size()) return fail(escape, "escape sequence not terminated");
      const auto digit = static_cast<uint32_t>(HexDigit(text[at]));
      if (digit >= base) return fail(at, "illegal character in escape sequence");
      code = code * base + digit;
    }
    if (code > most || (code >= 0xd800 && code < 0xe000)) {
      return fail(escape, "escape sequence is not a Unicode code point");
    }
    if (most == 255) {
      value->push_back(static_cast<char>(code));  // a byte rather than a code point
    } else {
      AppendUtf8(static_cast<uint32_t>(code), value);
    }
  }
}

}  // namespace pitwall::lang
