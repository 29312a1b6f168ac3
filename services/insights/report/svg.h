// The charts of a report as SVG inside of HTML: colours come from its style, texts are
// escaped.
#pragma once

#include <string>

#include "services/insights/report/document.h"

namespace pitwall::insights {

std::string SvgOf(const LineChart& chart);
std::string SvgOf(const BarChart& chart);
std::string SvgOf(const BoxChart& chart);

}  // namespace pitwall::insights
