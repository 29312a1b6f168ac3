// Entities of HTML and XML for what has a meaning there.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

// Of & < > " and '; empty of any other character.
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

// Text as it may be in an element or in a quoted attribute.
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
