// Bits in a string, most significant first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pitwall::blocks {

class BitWriter {
 public:
  explicit BitWriter(std::string* out) : out_(*out) {}
  // The lowest `count` bits (0 to 64) of `bits`.
  void Put(uint64_t bits, int count);
  // The rest of the last byte with zeros. To be called once, after the last bit.
  void Finish();

 private:
  std::string& out_;
  uint64_t pending_ = 0;
  int used_ = 0;  // bits of pending_, below 8
};

// Never reads past its end: the first fault makes it fail for good and all further bits are 0.
class BitReader {
 public:
  explicit BitReader(std::string_view data) : data_(data) {}
  uint64_t Get(int count);  // 0 to 64 bits
  bool ok() const { return ok_; }
  // Nothing left but fewer than 8 bits, all of them zero.
  bool AtEnd() const;

 private:
  std::string_view data_;
  uint64_t at_ = 0;  // bits
  bool ok_ = true;
};

}  // namespace pitwall::blocks
