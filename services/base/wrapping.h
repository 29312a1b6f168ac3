// Sums and differences of 64-bit integers that wrap around instead of overflowing. Each operation
// reverses the other for all numbers, including those from damaged files.
#pragma once

#include <cstdint>

namespace pitwall {

constexpr int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace pitwall
