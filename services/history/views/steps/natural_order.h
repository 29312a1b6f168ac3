// Natural order for labels: gpu 2 precedes gpu 10.
#pragma once

#include <string_view>

#include "services/model/labels.h"

namespace pitwall::history {

// Compares runs of digits by value and all other text by bytes. The order is a strict weak order.
// Strings with equal numbers ("01" and "1") are ordered by bytes.
bool NaturallyLess(std::string_view a, std::string_view b);
// Compares label by label, first by name and then by value. A prefix sorts first.
bool NaturallyLess(const Labels& a, const Labels& b);

}  // namespace pitwall::history
