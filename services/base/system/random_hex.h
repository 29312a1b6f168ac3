// Unpredictable random text for tokens and request IDs.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/status.h"

namespace pitwall {

// Returns `bytes` (at most 64) random bytes from /dev/urandom as hex, two digits per byte. Returns
// Internal if /dev/urandom is not readable. Thread-safe.
StatusOr<std::string> RandomHex(size_t bytes);

}  // namespace pitwall
