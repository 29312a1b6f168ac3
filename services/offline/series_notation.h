// Prometheus's notation for series in unit tests: `metric{a="b"}` and `1+2x3 _x2 4 stale NaN`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

// Parses the labels of a series. Only '=' matchers are allowed. InvalidArgument errors include the
// text.
StatusOr<Labels> ParseSeries(std::string_view text);

// Parses values. Returns one entry per interval, with nullopt for a missing sample ('_').
// value_notation.h describes the notation for items. The number of values is limited to kMaxValues.
StatusOr<std::vector<std::optional<double>>> ParseValues(std::string_view text);

}  // namespace pitwall::offline
