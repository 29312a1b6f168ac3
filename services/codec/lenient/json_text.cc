#include "services/codec/lenient/json_text.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"

namespace pitwall::lenient {

namespace {

constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"-Infinity", "\"-Inf\""}, {"Infinity", "\"+Inf\""}, {"NaN", "\"NaN\""}};

bool IsHex(std::string_view text) {
  return text.size() == 4 && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// Returns true if `rest` starts with a valid JSON escape sequence.
bool IsEscape(std::string_view rest) {
  if (rest.size() < 2) return false;
  if (rest[1] == 'u') return IsHex(rest.substr(2, 4));
  return std::string_view("\"\\/bfnrt").find(rest[1]) != std::string_view::npos;
}

// Appends the first character of `rest`, which is inside a string, and returns its length in bytes.
size_t AppendCharacter(std::string_view rest, std::string* out) {
  if (rest[0] == '\\') {
    if (!IsEscape(rest)) {
      *out += "\\\\";
      return 1;
    }
    *out += rest.substr(0, 2);
    return 2;
  }
  const size_t length = static_cast<unsigned char>(rest[0]) < ' ' ? 0 : Utf8Length(rest);
  *out += length == 0 ? std::string_view("?") : rest.substr(0, length);
  return length == 0 ? 1 : length;
}

// Appends the first token of `rest`, which is outside strings, and returns its length in bytes.
size_t AppendToken(std::string_view rest, std::string* out) {
  for (const auto& [word, json] : kWords) {
    if (!StartsWith(rest, word)) continue;
    *out += json;
    return word.size();
  }
  *out += rest[0];
  return 1;
}

}  // namespace

std::string RepairJson(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  while (!text.empty()) {
    const bool quote = text[0] == '"';
    text.remove_prefix(quoted && !quote ? AppendCharacter(text, &out) : AppendToken(text, &out));
    if (quote) quoted = !quoted;
  }
  return out;
}

std::string CloseCutJson(std::string_view text) {
  std::string open, open_at_end;  // open brackets now, and after the last complete element
  size_t end = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return "";
      open.pop_back();
      if (open.empty()) return "";
      if (open.back() != ']') continue;
      end = i + 1;
      open_at_end = open;
    }
  }
  if (end == 0) return "";
  return Cat(text.substr(0, end), std::string(open_at_end.rbegin(), open_at_end.rend()));
}

}  // namespace pitwall::lenient
