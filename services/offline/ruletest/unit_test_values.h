// Repetition of several values in a unit-test file: `(1 2)*3` for `1 2 1 2 1 2`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::offline {

// Maximum number of copies of one group, and maximum size of the result.
inline constexpr int64_t kMaxValueCopies = 10'000;
inline constexpr size_t kMaxValueBytes = size_t{1} << 20;

// Returns the values of a series with each group written out. Groups cannot contain groups. Returns
// InvalidArgument for a malformed group, and if a limit is exceeded.
StatusOr<std::string> RepeatValueGroups(std::string_view values);

}  // namespace pitwall::offline
