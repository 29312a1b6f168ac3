// Normalization of external text and labels: control characters are escaped, so that texts that
// differ only in their escapes are equal. Line breaks and tabs are kept: they are text, and
// OpenMetrics has an escape for them.
#pragma once

#include <string>
#include <string_view>

#include "services/model/labels.h"

namespace pitwall {

std::string SanitizeText(std::string_view text);
Labels SanitizeText(
    const Labels& labels);  // sanitizes the values; names with control characters are rejected

}  // namespace pitwall
