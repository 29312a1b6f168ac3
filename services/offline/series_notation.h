// Prometheus' notation of series in unit tests: `metric{a="b"}` and `1+2x3 _x2 4 stale NaN`.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::offline {

// InvalidArgument includes the text. Only '=' matchers are valid in a series.
StatusOr<Labels> ParseSeries(std::string_view text);

// One entry per interval; nullopt for a missing sample ('_'). Items as in value_notation.h. At most
// kMaxValues.
StatusOr<std::vector<std::optional<double>>> ParseValues(std::string_view text);

}  // namespace pitwall::offline
