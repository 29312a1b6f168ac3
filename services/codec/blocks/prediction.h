// Integers as their distance to what is expected of them, in bits. What is expected is made of the
// entries a fixed number of places before: phases of a step come in turn, so that each is as long
// as its like of the step before, and not as the phase before it.
//
//   u8 order (0: entries, 1: differences) | u8 turn (0 to kMostTurn; 0: 0 is expected) | bits
//
// Bits are Rice codes in runs of 64 entries: 6 bits k, then for each entry q zeros, a one and k
// bits; kMostZeros zeros: the 64 bits of the entry follow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::blocks {

inline constexpr size_t kMostTurn = 8;

// Appends. Deterministic.
void WriteExpected(std::span<const int64_t> entries, std::string* out);
// Fills `to`. DataLoss: damaged, or of another length.
Status ReadExpected(std::string_view body, std::span<int64_t> to);

}  // namespace pitwall::blocks
