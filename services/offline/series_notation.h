// Prometheus's notation of series in unit tests: `metric{a="b"}` and `1+2x3 _x2 4 stale NaN`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

// Parses the labels of a series, in which only '=' matchers are valid. InvalidArgument errors
// include the text.
StatusOr<Labels> ParseSeries(std::string_view text);

// Parses values. Returns one entry per interval, with nullopt for a missing sample ('_'). Items
// have the form described in value_notation.h. At most kMaxValues are allowed.
StatusOr<std::vector<std::optional<double>>> ParseValues(std::string_view text);

}  // namespace pitwall::offline
