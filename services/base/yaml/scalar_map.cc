// Mapping from each byte of a scalar's value to its byte in the file. yaml-cpp provides only the
// start, so this code walks the text and the value in parallel. In every style, the non-whitespace
// bytes have the same order in both; styles differ in whitespace, quotes, and escapes.
#include "services/base/yaml/node_data.h"

#include <algorithm>

namespace pitwall::yaml {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Skips "&anchor" and "!tag" in any order.
size_t SkipProperties(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (text[at] == '&' || text[at] == '!') {
      while (at < text.size() && !IsSpace(text[at])) ++at;
    } else if (IsSpace(text[at])) {
      ++at;
    } else if (text[at] == '#') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else {
      break;
    }
  }
  return at;
}

size_t Utf8Length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if ((byte & 0xe0) == 0xc0) return 2;
  if ((byte & 0xf0) == 0xe0) return 3;
  return 4;
}

// Returns the length of the escape sequence at `at` in a double-quoted scalar.
size_t EscapeLength(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return 1;
  switch (text[at + 1]) {
    case 'x':
      return 4;
    case 'u':
      return 6;
    case 'U':
      return 10;
    default:
      return 2;
  }
}

}  // namespace

std::vector<uint32_t> MapScalar(std::string_view text, size_t offset, std::string_view value) {
  size_t at = SkipProperties(text, offset);
  char style = at < text.size() ? text[at] : ' ';
  if (style == '|' || style == '>') {
    while (at < text.size() && text[at] != '\n') ++at;  // block header: indicators and a comment
    style = '|';
  } else if (style == '"' || style == '\'') {
    ++at;
  } else {
    style = ' ';
  }

  std::vector<uint32_t> offsets;
  offsets.reserve(value.size() + 1);
  const auto push = [&](size_t file_offset) {
    offsets.push_back(static_cast<uint32_t>(std::min(file_offset, text.size())));
  };
  size_t i = 0;
  while (i < value.size()) {
    // An escaped line break adds no bytes to the value.
    while (style == '"' && at + 1 < text.size() && text[at] == '\\' &&
           (text[at + 1] == '\n' || text[at + 1] == '\r')) {
      at += 2;
      while (at < text.size() && IsSpace(text[at])) ++at;
    }
    if (style == '"' && at < text.size() && text[at] == '\\') {
      const size_t length = Utf8Length(value[i]);
      for (size_t k = 0; k < length && i < value.size(); ++k, ++i) push(at);
      at += EscapeLength(text, at);
      continue;
    }
    if (IsSpace(value[i])) {
      push(at);
      if (at < text.size() && IsSpace(text[at])) {
        // The indentation after a line break in a block scalar is skipped only before the first
        // non-whitespace byte, so leading spaces in the value map to the indentation.
        ++at;
      }
      ++i;
      continue;
    }
    while (at < text.size() && IsSpace(text[at])) ++at;
    if (style == '"' && at < text.size() && text[at] == '\\') continue;
    push(at);
    ++at;
    if (style == '\'' && value[i] == '\'' && at < text.size() && text[at] == '\'') ++at;
    ++i;
  }
  push(at);
  return offsets;
}

}  // namespace pitwall::yaml
