// Layout of an encoded block of values, and its limits.
//
//   u8 form | u8 flags (bit 0: body is zstd) | varint count | [varint size of the body before
//   compression] | body
//
// A block has no checksum of its own, because its segment has one per page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pitwall::blocks {

// Maximum number of values in a block. For comparison, ten minutes of data at one value per 500 ms
// contain 1,200 values.
inline constexpr size_t kMaxBlockValues = 4096;

// Form of a block's values before compression. Files contain these numbers, so a number must never
// be reused.
enum class Form : uint8_t {
  kConstant = 1,    // one repeated value
  kDictionary = 2,  // distinct values, and one index per value
  kDecimal = 3,     // integer multiples of a negative power of ten, stored as differences
  kXor = 4,         // XOR with the previous value, as in Gorilla (Pelkonen 2015)
  kPlanes = 5,      // bytes of all values grouped by significance, most significant first
  kExpected = 6,    // as kDecimal, but as prediction errors
};

inline constexpr uint8_t kZstdFlag = 1;

}  // namespace pitwall::blocks
