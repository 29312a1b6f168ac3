// Layout of an encoded block of values, and its bounds.
//
//   u8 form | u8 flags (bit 0: body is zstd) | varint count | [varint bytes of the body before
//   zstd] | body
//
// A block has no checksum of its own: the segment that holds it has one for each page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pitwall::blocks {

// Most values of a block: 10 minutes at 500 ms are 1,200.
inline constexpr size_t kMaxBlockValues = 4096;

// How the values of a block are written before zstd. The numbers are in files: never reuse one.
enum class Form : uint8_t {
  kConstant = 1,    // one value, repeated
  kDictionary = 2,  // distinct values and an index each
  kDecimal = 3,     // integers of a power of ten, as differences
  kXor = 4,         // differences of bits from value to value, after Gorilla (Pelkonen 2015)
  kPlanes = 5,      // the bytes of all values, most significant first, plane by plane
  kExpected = 6,    // integers of a power of ten by what is expected of them; from version 2 of
                    // segments on
};

inline constexpr uint8_t kZstdFlag = 1;

}  // namespace pitwall::blocks
