// Only that {{ and }} pair up and that quotes inside of them end: what stands between is checked
// where templates are expanded (rules/alert).
#include "rules/check/validators.h"

namespace pitwall::check {
namespace {

// Past the end of the action that begins at `at` (after "{{"), or npos with `error` set.
size_t EndOfAction(std::string_view text, size_t at, std::string_view* error) {
  if (text.substr(at, 2) == "/*" || text.substr(at, 4) == "- /*") {
    const size_t close = text.find("*/", at);
    if (close == std::string_view::npos) {
      *error = "comment in a template is not closed";
      return close;
    }
    at = close + 2;
  }
  while (at < text.size()) {
    const char c = text[at];
    if (text.substr(at, 2) == "}}") return at + 2;
    if (text.substr(at, 2) == "{{") break;
    if (c == '"' || c == '`' || c == '\'') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != c) end += text[end] == '\\' && c != '`' ? 2 : 1;
      if (end >= text.size()) {
        *error = "string in a template is not closed";
        return std::string_view::npos;
      }
      at = end;
    }
    ++at;
  }
  *error = "{{ without }}";
  return std::string_view::npos;
}

}  // namespace

void CheckTemplate(const lang::NamedText& text, lang::Diagnostics* diagnostics) {
  const std::string_view body = text.text();
  size_t at = 0;
  while (true) {
    const size_t open = body.find("{{", at);
    if (open == std::string_view::npos) break;
    std::string_view error;
    at = EndOfAction(body, open + 2, &error);
    if (at == std::string_view::npos) {
      diagnostics->Error(text.source,
                         {static_cast<uint32_t>(open), static_cast<uint32_t>(open + 2)}, error);
      return;
    }
  }
}

}  // namespace pitwall::check
