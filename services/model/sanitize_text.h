// Text and labels from outside as the engine keeps them: control characters are written as
// escapes, so that two texts that differ only in how these are written are the same. Line breaks
// and tabs stay: they are text, and OpenMetrics has an escape for them.
#pragma once

#include <string>
#include <string_view>

#include "services/model/labels.h"

namespace pitwall {

std::string SanitizeText(std::string_view text);
Labels SanitizeText(const Labels& labels);  // of the values; names with controls are refused

}  // namespace pitwall
