// A chart as JSON, and as binary columns.
#pragma once

#include <string>
#include <string_view>

#include "services/history/views/chart.h"

namespace pitwall::history {

inline constexpr std::string_view kColumnsContentType = "application/vnd.pitwall.columns";

std::string ChartJson(const Chart& chart, size_t width);
// docs/api.md, "Chart". The same numbers but for what Float32 and milliseconds round.
std::string ChartBinary(const Chart& chart, size_t width);

}  // namespace pitwall::history
