// Zigzag numbers, and an inline decoder for the zigzag varints that BinaryWriter::I64 writes.
#pragma once

#include <cstdint>

namespace pitwall::blocks {

inline uint64_t Zigzag(int64_t v) {
  return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t Unzigzag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

// Reads the number at *at and advances *at. Returns false if the number extends beyond `end` or has
// more than 10 bytes.
inline bool ReadVarint(const uint8_t** at, const uint8_t* end, int64_t* out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && *at != end; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) {
      *out = Unzigzag(value);
      return true;
    }
  }
  return false;
}

}  // namespace pitwall::blocks
