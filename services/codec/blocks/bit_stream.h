// Writer and reader for bit strings, most significant bit first.
#pragma once

#include <cstdint>
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

// Reader that never reads past the end. After the first error, ok() stays false and all further
// bits are 0.
class BitReader {
 public:
  explicit BitReader(std::string_view data) : data_(data) {}
  uint64_t Get(int count);  // `count` is 0 to 64
  bool ok() const { return ok_; }
  // Returns true if fewer than 8 bits remain and all of them are zero.
  bool AtEnd() const;

 private:
  std::string_view data_;
  uint64_t at_ = 0;  // position in the data, in bits
  bool ok_ = true;
};

}  // namespace pitwall::blocks
