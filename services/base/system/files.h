// Small files that are read and written completely.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Errors contain the path and the cause: NotFound, "Is a directory", … ResourceExhausted if longer
// than `limit` bytes.
StatusOr<std::string> ReadFile(const std::string& path, size_t limit = 64 << 20);
// Replaces the file atomically: writes ".new" and renames it. An error leaves the old file
// unchanged.
Status WriteFile(const std::string& path, std::string_view text);
// Returns the part after the last slash.
std::string BaseName(const std::string& path);

}  // namespace pitwall
