// Layout of an encoded block of values, and its limits.
//
//   u8 form | u8 flags (bit 0: body is zstd) | varint count | [varint size of the body before
//   compression] | body
//
// A block has no checksum of its own: its segment has one per page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pitwall::blocks {

// Maximum number of values in a block: 10 minutes at 500 ms are 1,200.
inline constexpr size_t kMaxBlockValues = 4096;

// Form of the values of a block before compression. The numbers are in files: never reuse one.
enum class Form : uint8_t {
  kConstant = 1,    // one value, repeated
  kDictionary = 2,  // distinct values, and an index per value
  kDecimal = 3,     // integers of a power of ten, as differences
  kXor = 4,         // XOR with the previous value, as in Gorilla (Pelkonen 2015)
  kPlanes = 5,      // the bytes of all values, most significant first, plane by plane
  kExpected = 6,    // integers of a power of ten, as prediction errors; since version 2 of
                    // segments
};

inline constexpr uint8_t kZstdFlag = 1;

}  // namespace pitwall::blocks
