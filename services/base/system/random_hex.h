// Unpredictable random text for tokens and request IDs.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/status.h"

namespace pitwall {

// Returns two hex digits for each of `bytes` (at most 64) bytes of /dev/urandom. Internal: it is
// unreadable. Thread-safe.
StatusOr<std::string> RandomHex(size_t bytes);

}  // namespace pitwall
