// zstd compression of whole texts, with limits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::blocks {

// `level` of zstd: 3 as measured in docs/decisions/0043; 1 for data that is soon read again.
// ResourceExhausted: zstd is out of memory.
StatusOr<std::string> Pack(std::string_view text, int level = 3);
// DataLoss, prefixed with `what`: not zstd, damaged, or longer than `limit` bytes. Never allocates
// more than that. ResourceExhausted: zstd is out of memory.
StatusOr<std::string> Unpack(std::string_view packed, uint64_t limit, std::string_view what);

// Fills `out` completely. DataLoss: not zstd, damaged, or another length.
Status UnpackInto(std::string_view packed, std::span<char> out, std::string_view what);

}  // namespace pitwall::blocks
