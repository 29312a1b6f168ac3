// Display formats of a report's numbers and times, and text as HTML.
#pragma once

#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

// Escapes text for elements and quoted attributes. Invalid UTF-8 becomes U+FFFD; control characters
// and those that change the writing direction become their code in brackets. Longer text is
// truncated after kMaxText bytes, with a note.
inline constexpr size_t kMaxText = 4000;
std::string Escaped(std::string_view text);

// "–" for empty cells and NaN.
std::string Shown(const Cell& cell, Unit unit);
// Full precision, for titles.
std::string Exact(const Cell& cell, Unit unit);
std::string ShownUtc(int64_t ns);  // 2026-01-01 00:00:00

}  // namespace pitwall::history
