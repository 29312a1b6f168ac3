// Report charts as inline SVG. Colors come from the report's style sheet, and text is escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

std::string SvgOf(const LineChart& chart);
std::string SvgOf(const BarChart& chart);
std::string SvgOf(const BoxChart& chart);

// Returns the color (1 to 8) of a phase or job part. It is the same color as on the page, except
// for unknown phases with non-ASCII letters.
size_t PartColor(std::string_view name);

}  // namespace pitwall::history
