// Formatting of a report's numbers and times for display, and HTML escaping of its text.
#pragma once

#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

// Escapes text for elements and quoted attributes. Invalid UTF-8 becomes U+FFFD. Control
// characters, and characters that change the writing direction, are replaced with their codes in
// brackets. Text is truncated after kMaxText bytes, with a note.
inline constexpr size_t kMaxText = 4000;
std::string Escaped(std::string_view text);

// Formats a cell for display. Empty cells and NaN are shown as "–".
std::string Shown(const Cell& cell, Unit unit);
// Formats a cell in full precision, for tooltips.
std::string Exact(const Cell& cell, Unit unit);
std::string ShownUtc(int64_t ns);  // format: 2026-01-01 00:00:00

}  // namespace pitwall::history
