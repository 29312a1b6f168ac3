// Encodings of a chart: JSON and binary columns.
#pragma once

#include <string>
#include <string_view>

#include "services/history/views/chart.h"

namespace pitwall::history {

inline constexpr std::string_view kColumnsContentType = "application/vnd.pitwall.columns";

std::string ChartJson(const Chart& chart, size_t width);
// Binary form of docs/api.md, "Chart". Equal to the JSON form up to rounding to float32 and
// milliseconds.
std::string ChartBinary(const Chart& chart, size_t width);

}  // namespace pitwall::history
