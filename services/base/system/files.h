// Small files that are read and written whole.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Errors name the path and the cause: NotFound, "Is a directory", … ResourceExhausted beyond
// `limit` bytes.
StatusOr<std::string> ReadFile(const std::string& path, size_t limit = 64 << 20);
// Replaces the file as a whole: beside it first (".new"), then in its place. An error leaves the
// file as it was.
Status WriteFile(const std::string& path, std::string_view text);
// The part after the last slash.
std::string BaseName(const std::string& path);

}  // namespace pitwall
