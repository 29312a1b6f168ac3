// Selectors of what the views read by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/matcher.h"

namespace pitwall::history {

// Series of a metric; of these ranks alone where some are given.
Selector SelectorOfMetric(std::string_view metric, const std::vector<int64_t>& ranks = {});
// `selector`, where the label also has exactly this value.
Selector WithLabel(Selector selector, std::string_view label, std::string_view value);
// Series of several metrics that have a common beginning.
Selector SelectorOfPrefix(std::string_view prefix);

}  // namespace pitwall::history
