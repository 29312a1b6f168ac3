// Validation of step, phase, and metric names.
#pragma once

#include <string_view>

namespace pitwall::steps {

// Returns true if the name is not empty, is within the codec's length limit, and has no control
// characters.
bool IsName(std::string_view text);
// Returns true for metrics that only StepSeries may write.
bool IsReserved(std::string_view metric);

}  // namespace pitwall::steps
