#include "services/base/terminal.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace pitwall {
namespace {

enum class Style { kLine, kText, kJson };

// First character in a string: its length in bytes, its code point, and whether it is well-formed
// UTF-8.
struct Character {
  size_t bytes = 1;
  uint32_t code = 0;
  bool utf8 = true;
};

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// A malformed, overlong, or surrogate sequence counts as one invalid byte.
Character First(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead, true};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  const Character malformed{1, lead, false};
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return malformed;
  uint32_t code = lead & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (!IsContinuation(text[i])) return malformed;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return malformed;
  return {bytes, code, true};
}

bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f; }

void AppendHex(uint32_t code, int digits, std::string* out) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out->push_back("0123456789abcdef"[code >> shift & 15]);
}

void Escape(const Character& c, Style style, std::string* out) {
  if (style == Style::kJson) {
    out->append("\\u");
    AppendHex(c.utf8 ? c.code : 0xfffd, 4, out);
  } else if (c.code == '\n') {
    out->append("\\n");
  } else if (c.code == '\t' && c.utf8) {
    out->append("\\t");
  } else if (c.code < 0x80 || !c.utf8) {
    out->append("\\x");
    AppendHex(c.code, 2, out);
  } else {
    out->append("\\u");
    AppendHex(c.code, 4, out);
  }
}

std::string Escaped(std::string_view text, Style style) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t plain =
        static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsPlain) - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character c = First(text);
    if (c.utf8 && c.code == '\n' && style != Style::kLine) {
      out.push_back('\n');
    } else if (c.utf8 && c.code == '\t' && style != Style::kLine) {
      // In valid JSON, tabs occur only between tokens.
      out.append(style == Style::kText ? "    " : " ");
    } else if (!c.utf8 || IsControl(c.code)) {
      Escape(c, style, &out);
    } else {
      out.append(text.substr(0, c.bytes));
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

void Write(const std::string& text, std::FILE* file) {
  std::fwrite(text.data(), 1, text.size(), file);
}

}  // namespace

bool HasControl(std::string_view text) {
  while (true) {
    const auto at = std::find_if_not(text.begin(), text.end(), IsPlain);
    if (at == text.end()) return false;
    text.remove_prefix(static_cast<size_t>(at - text.begin()));
    const Character c = First(text);
    if (!c.utf8 || IsControl(c.code)) return true;
    text.remove_prefix(c.bytes);
  }
}

std::string TerminalLine(std::string_view text) { return Escaped(text, Style::kLine); }
std::string TerminalText(std::string_view text) { return Escaped(text, Style::kText); }
std::string TerminalJson(std::string_view json) { return Escaped(json, Style::kJson); }

void Print(std::string_view text) { Write(TerminalText(text), stdout); }
void PrintJson(std::string_view json) { Write(TerminalJson(json), stdout); }
void PrintError(std::string_view text) { Write(TerminalText(text), stderr); }
void FlushOutput() { std::fflush(stdout); }

}  // namespace pitwall
