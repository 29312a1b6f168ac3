// Natural order of labels: gpu 2 before gpu 10.
#pragma once

#include <string_view>

#include "services/model/labels.h"

namespace pitwall::history {

// Compares runs of digits by value, all else by bytes. A strict weak order; texts with equal
// numbers ("01", "1") differ by bytes.
bool NaturallyLess(std::string_view a, std::string_view b);
// Compares pair by pair, name before value; a prefix comes first.
bool NaturallyLess(const Labels& a, const Labels& b);

}  // namespace pitwall::history
