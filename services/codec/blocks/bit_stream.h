// Writer and reader for bit strings, most significant bit first.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace pitwall::blocks {

class BitWriter {
 public:
  explicit BitWriter(std::string* out) : out_(*out) {}
  // Appends the `count` lowest bits (0 to 64) of `bits`.
  void Put(uint64_t bits, int count);
  // Pads the last byte with zeros. Call Finish once, after the last bit.
  void Finish();

 private:
  std::string& out_;
  uint64_t pending_ = 0;
  int used_ = 0;  // number of bits in pending_, fewer than 8
};

// Reader that never reads past the end. Bits beyond the end are zero.
class BitReader {
 public:
  explicit BitReader(std::string_view data) : data_(data) {}
  // Returns the next 32 or more bits, aligned to the most significant bit.
  uint64_t Peek() const;
  void Skip(int count) { at_ += static_cast<size_t>(count); }
  uint64_t Get(int count);  // `count` is 0 to 64
  bool past_end() const { return at_ > data_.size() * 8; }
  // Returns true if fewer than 8 bits remain and all of them are zero.
  bool AtEnd() const { return !past_end() && data_.size() * 8 - at_ < 8 && Peek() == 0; }

 private:
  const std::string_view data_;
  size_t at_ = 0;  // position in the data, in bits
};

inline uint64_t BitReader::Peek() const {
  const size_t byte = at_ / 8;
  uint64_t out = 0;
  if (byte + 8 <= data_.size()) {
    std::memcpy(&out, data_.data() + byte, 8);
    if constexpr (std::endian::native == std::endian::little) out = __builtin_bswap64(out);
  } else {
    for (size_t i = byte; i < data_.size(); ++i)
      out |= uint64_t{static_cast<uint8_t>(data_[i])} << (56 - 8 * (i - byte));
  }
  return out << (at_ % 8);
}

inline uint64_t BitReader::Get(int count) {
  uint64_t out = 0;
  if (count > 32) {
    out = Peek() >> 32 << (count - 32);
    Skip(32);
    count -= 32;
  }
  if (count > 0) out |= Peek() >> (64 - count);
  Skip(count);
  return out;
}

}  // namespace pitwall::blocks
