// Dates with times of day as tools print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pitwall::imports {

// Parses a date and a time of day as Unix nanoseconds: 2026/11/27 06:00:00.123 (nvidia-smi),
// 2026-11-27 06:00:00,123 (Python's logging), 2026-11-27T06:00:00Z, 2026-11-27 06:00:00 +0900.
// `offset_s`: seconds east of UTC of texts without a zone. Nothing if the text is malformed or
// beyond all positions.
std::optional<int64_t> ParseDateTime(std::string_view text, int32_t offset_s);

// Parses a zone: "UTC", "Z", "+09:00", "-0330", as seconds east of UTC.
std::optional<int32_t> ParseZone(std::string_view text);

}  // namespace pitwall::imports
