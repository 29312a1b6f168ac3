// Selectors for the metrics that the views read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/matcher.h"

namespace pitwall::history {

// Selects the series of a metric. If `ranks` is not empty, selects only the series of these ranks.
Selector SelectorOfMetric(std::string_view metric, const std::vector<int64_t>& ranks = {});
// Adds an equality matcher for the label.
Selector WithLabel(Selector selector, std::string_view label, std::string_view value);
// Selects series of metrics with a common prefix.
Selector SelectorOfPrefix(std::string_view prefix);

}  // namespace pitwall::history
