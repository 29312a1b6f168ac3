// zstd over a whole text, with bounds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::blocks {

// ResourceExhausted: zstd has no memory.
StatusOr<std::string> Pack(std::string_view text);
// DataLoss, with `what` before it: not zstd, damaged, or longer than `limit` bytes. Never allocates
// more than that.
StatusOr<std::string> Unpack(std::string_view packed, uint64_t limit, std::string_view what);

}  // namespace pitwall::blocks
