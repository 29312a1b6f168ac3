// Entities for special characters in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

// Returns the entity for & < > " or ', and "" for other characters.
constexpr std::string_view MarkupEntity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

// Returns the text escaped for an element or a quoted attribute.
inline std::string EscapeMarkup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const std::string_view entity = MarkupEntity(c);
    if (entity.empty()) {
      out.push_back(c);
    } else {
      out += entity;
    }
  }
  return out;
}

}  // namespace pitwall
