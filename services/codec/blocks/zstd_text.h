// zstd compression of whole strings, with size limits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::blocks {

// Compresses `text`. `level` is the zstd level: 3 by default (docs/decisions/0043), or 1 for data
// that is reread soon. Returns ResourceExhausted if zstd is out of memory.
StatusOr<std::string> Pack(std::string_view text, int level = 3);
// Does the same as Pack, but replaces *out and reuses its memory.
Status PackInto(std::string_view text, std::string* out, int level = 3);
// Decompresses `packed`. Returns DataLoss, prefixed with `what`, if the data is not zstd, is
// corrupt, or is longer than `limit` bytes when decompressed. Never allocates more than `limit`.
// Returns ResourceExhausted if zstd is out of memory.
StatusOr<std::string> Unpack(std::string_view packed, uint64_t limit, std::string_view what);

// Fills `out` completely. Returns DataLoss if `packed` is not zstd, is corrupt, or has a different
// decompressed length.
Status UnpackInto(std::string_view packed, std::span<char> out, std::string_view what);

}  // namespace pitwall::blocks
