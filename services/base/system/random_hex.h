// Random text that nobody can guess: tokens, ids of requests.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/status.h"

namespace pitwall {

// Two hex digits for each of `bytes` (64 at most) bytes of /dev/urandom. Internal: it cannot be
// read. Any thread.
StatusOr<std::string> RandomHex(size_t bytes);

}  // namespace pitwall
