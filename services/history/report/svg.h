// Charts of a report as inline SVG. Colors come from the style of the HTML; texts are escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

std::string SvgOf(const LineChart& chart);
std::string SvgOf(const BarChart& chart);
std::string SvgOf(const BoxChart& chart);

// Returns the color of a phase or job part, 1 to 8, equal to that of the page. For an unknown phase
// with non-ASCII letters it may differ.
size_t PartColor(std::string_view name);

}  // namespace pitwall::history
