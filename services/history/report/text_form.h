// Numbers and times of a report as people read them, and text as HTML.
#pragma once

#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

// Text that no browser takes for markup, in elements and in quoted attributes. Bytes that are no
// UTF-8 become U+FFFD, control characters and those that change the direction of writing become
// their code in brackets. Cut after kMostText bytes, which the text then says.
inline constexpr size_t kMostText = 4000;
std::string Escaped(std::string_view text);

// "–" for nothing and NaN.
std::string Shown(const Cell& cell, Unit unit);
// All digits, for titles.
std::string Exact(const Cell& cell, Unit unit);
std::string ShownUtc(int64_t ns);  // 2026-01-01 00:00:00

}  // namespace pitwall::history
