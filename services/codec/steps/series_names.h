// Valid names of steps, phases, and logged values.
#pragma once

#include <string_view>

namespace pitwall::steps {

// Not empty, at most as long as the codec reads, no control characters.
bool IsName(std::string_view text);
// A series that only StepSeries may write.
bool IsReserved(std::string_view metric);

}  // namespace pitwall::steps
