// The charts of a report as SVG inside of HTML: colors come from its style, texts are
// escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

std::string SvgOf(const LineChart& chart);
std::string SvgOf(const BarChart& chart);
std::string SvgOf(const BoxChart& chart);

// Color of a phase or of a part of the job, 1 to 8: that of the page, so that both look the same.
// Of an unknown phase with letters beyond ASCII it may be another.
size_t PartColor(std::string_view name);

}  // namespace pitwall::history
