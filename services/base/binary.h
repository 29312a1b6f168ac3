// Binary encoding of snapshots: little-endian numbers, varints, and length-prefixed strings. A
// reader never reads past its end. After the first error, all reads fail, and ok() or Finish()
// reports the error.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

class BinaryWriter {
 public:
  void U8(uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void Bool(bool v) { U8(v ? 1 : 0); }
  void U64(uint64_t v);                     // varint
  void I64(int64_t v);                      // zigzag varint
  void Double(double v);                    // 8 bytes, exact bits (preserves NaN payloads)
  void Str(std::string_view v);             // length prefix and bytes
  void Doubles(std::span<const double> v);  // length prefix and raw bits
  void I64s(std::span<const int64_t> v);    // length prefix and zigzag deltas
  void U32s(std::span<const uint32_t> v);
  void Bytes(std::span<const uint8_t> v);
  const std::string& data() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Bounds-checked cursor over binary data. Reads single numbers and bytes, and keeps the first
// error.
class BinaryCursor {
 public:
  explicit BinaryCursor(std::string_view data) : data_(data) {}
  uint8_t U8();
  uint64_t U64() {
    // Fast path: most numbers are below 128.
    if (ok_ && at_ < data_.size() && static_cast<uint8_t>(data_[at_]) < 0x80)
      return static_cast<uint8_t>(data_[at_++]);
    return LongU64();
  }
  std::string_view Raw(
      size_t bytes);  // `bytes` bytes without a length prefix; valid as long as the underlying data
  // Reads the number of elements that follow, each at least `min_bytes` long. Fails if the
  // remaining bytes cannot hold them, so a damaged length never causes an excessive allocation.
  size_t Count(size_t min_bytes = 1);
  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == data_.size(); }
  // Returns OK if all data was read without errors. Returns DataLoss with the position of the first
  // error otherwise.
  Status Finish(std::string_view what) const;
  // Marks the input as invalid, for example because a decoded value is impossible.
  void Fail() { ok_ = false; }

 protected:
  // Calls `take` with each number.
  template <typename Take>
  void ForEachU64(size_t count, Take take);

 private:
  uint64_t LongU64();

  std::string_view data_;
  size_t at_ = 0;
  bool ok_ = true;
};

// Reader for the values that BinaryWriter writes.
class BinaryReader : public BinaryCursor {
 public:
  using BinaryCursor::BinaryCursor;
  bool Bool() { return U8() != 0; }
  int64_t I64() {
    const uint64_t v = U64();
    return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  double Double();
  std::string Str();
  std::string_view StrView();  // valid as long as the underlying data
  std::vector<double> Doubles();
  std::vector<int64_t> I64s();
  void I64s(std::vector<int64_t>* out);  // overwrites *out and reuses its memory
  std::vector<uint32_t> U32s();
  void U32s(std::vector<uint32_t>* out);
  std::vector<uint8_t> Bytes();
};

}  // namespace pitwall
