// Order of labels for people: gpu 2 before gpu 10.
#pragma once

#include <string_view>

#include "services/model/labels.h"

namespace pitwall::history {

// Runs of digits compare by their number, all else by bytes. A strict weak order; texts of equal
// numbers ("01", "1") differ by their bytes.
bool NaturallyLess(std::string_view a, std::string_view b);
// Pair by pair, name before value; a prefix comes first.
bool NaturallyLess(const Labels& a, const Labels& b);

}  // namespace pitwall::history
