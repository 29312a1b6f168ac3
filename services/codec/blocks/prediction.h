// Codec that stores integers as their prediction errors. Each prediction is based on the entries at
// the same position in earlier turns; a turn is a fixed number of entries. For example, phases
// alternate within a step, so the length of a phase is close to its length in the previous step,
// not to the length of the phase before it.
//
//   u8 order (0: entries, 1: differences) | u8 turn (0 to kMostTurn; 0: predicts 0) | bits
//
// The bits are Rice codes in runs of 64 entries: 6 bits k, then for each entry q zeros, a one, and
// k bits. After kMostZeros zeros, the 64 bits of the entry follow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::blocks {

inline constexpr size_t kMostTurn = 8;

// Appends the encoded entries to `out`. The output is deterministic.
void WriteExpected(std::span<const int64_t> entries, std::string* out);
// Fills `to`. Returns DataLoss if the bytes are corrupt or contain a different number of entries.
Status ReadExpected(std::string_view body, std::span<int64_t> to);

}  // namespace pitwall::blocks
