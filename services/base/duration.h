// Durations in Prometheus syntax: 30s, 1h30m, 2d, 500ms; units y w d h m s ms, largest first, each
// at most once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Parses a duration and returns it in nanoseconds. "0" needs no unit. Returns InvalidArgument
// without a position if the text is malformed.
StatusOr<int64_t> ParseDuration(std::string_view text);

// Returns the shortest string of whole units that ParseDuration parses to the same value. Fractions
// of a millisecond are dropped, so callers that need them must call IsWholeMillis first. Negative
// durations start with '-'.
std::string FormatDuration(int64_t nanos);

inline bool IsWholeMillis(int64_t nanos) { return nanos % 1'000'000 == 0; }

}  // namespace pitwall
