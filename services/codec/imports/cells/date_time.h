// Parser for dates and times in the formats that tools print.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pitwall::imports {

// Parses a date and a time of day as Unix nanoseconds: 2026/11/27 06:00:00.123 (nvidia-smi),
// 2026-11-27 06:00:00,123 (Python's logging), 2026-11-27T06:00:00Z, 2026-11-27 06:00:00 +0900.
// `offset_s` is the offset in seconds east of UTC, used for strings without a time zone. Returns
// nullopt if the string is malformed or the time is out of range.
std::optional<int64_t> ParseDateTime(std::string_view text, int32_t offset_s);

// Parses a time zone such as "UTC", "Z", "+09:00", or "-0330" as an offset in seconds east of UTC.
std::optional<int32_t> ParseZone(std::string_view text);

}  // namespace pitwall::imports
