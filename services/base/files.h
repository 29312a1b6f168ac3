// Small files that are read whole.
#pragma once

#include <string>

#include "services/base/status.h"

namespace pitwall {

// Errors name the path and the cause: NotFound, "Is a directory", … ResourceExhausted beyond
// `limit` bytes.
StatusOr<std::string> ReadFile(const std::string& path, size_t limit = 64 << 20);
// The part after the last slash.
std::string BaseName(const std::string& path);

}  // namespace pitwall
