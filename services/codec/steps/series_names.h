// Valid names of steps, phases, and logged values.
#pragma once

#include <string_view>

namespace pitwall::steps {

// True for names that are not empty, not too long for the codec, and without control characters.
bool IsName(std::string_view text);
// True for metrics that only StepSeries may write.
bool IsReserved(std::string_view metric);

}  // namespace pitwall::steps
