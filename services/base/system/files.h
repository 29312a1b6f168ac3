// Whole-file reads and writes for small files.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Reads a whole file. Errors contain the path and the cause: NotFound, "Is a directory", … Returns
// ResourceExhausted if the file is larger than `limit` bytes.
StatusOr<std::string> ReadFile(const std::string& path, size_t limit = 64 << 20);
// Replaces the file atomically by writing a ".new" file and renaming it. After an error, the old
// file is unchanged.
Status WriteFile(const std::string& path, std::string_view text);
// Returns the part of the path after the last slash.
std::string BaseName(const std::string& path);

}  // namespace pitwall
