// Normalization of external text and labels. Control characters are escaped, so texts that differ
// only in these characters and their escapes become equal. Line breaks and tabs are kept because
// they are ordinary text and OpenMetrics can escape them.
#pragma once

#include <string>
#include <string_view>

#include "services/model/labels.h"

namespace pitwall {

std::string SanitizeText(std::string_view text);
Labels SanitizeText(
    const Labels& labels);  // sanitizes the values; names with control characters are rejected

}  // namespace pitwall
