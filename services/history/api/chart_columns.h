// Encodings of a chart as JSON and as binary columns.
#pragma once

#include <string>
#include <string_view>

#include "services/history/views/chart.h"

namespace pitwall::history {

inline constexpr std::string_view kColumnsContentType = "application/vnd.pitwall.columns";

std::string ChartJson(const Chart& chart, size_t width);
// Encodes a chart in the binary form described in docs/api.md, "Chart". The contents equal those of
// the JSON form, except that values are rounded to float32 and times to milliseconds.
std::string ChartBinary(const Chart& chart, size_t width);

}  // namespace pitwall::history
