#include "services/base/binary.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall {

void BinaryWriter::U64(uint64_t v) {
  while (v >= 0x80) {
    U8(static_cast<uint8_t>(v | 0x80));
    v >>= 7;
  }
  U8(static_cast<uint8_t>(v));
}
void BinaryWriter::I64(int64_t v) {
  U64((static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63));
}
void BinaryWriter::Double(double v) {
  char bits[8];
  std::memcpy(bits, &v, 8);
  out_.append(bits, 8);
}
void BinaryWriter::Str(std::string_view v) {
  U64(v.size());
  out_.append(v);
}
void BinaryWriter::Doubles(std::span<const double> v) {
  U64(v.size());
  out_.append(reinterpret_cast<const char*>(v.data()), v.size() * 8);
}
void BinaryWriter::I64s(std::span<const int64_t> v) {
  U64(v.size());
  uint64_t last = 0;
  for (const int64_t x : v) {
    // Unsigned arithmetic wraps around instead of overflowing if values jump from one end of the
    // range to the other.
    I64(static_cast<int64_t>(static_cast<uint64_t>(x) - last));
    last = static_cast<uint64_t>(x);
  }
}
void BinaryWriter::U32s(std::span<const uint32_t> v) {
  U64(v.size());
  for (const uint32_t x : v) U64(x);
}
void BinaryWriter::Bytes(std::span<const uint8_t> v) {
  U64(v.size());
  out_.append(reinterpret_cast<const char*>(v.data()), v.size());
}

uint8_t BinaryCursor::U8() {
  if (!ok_ || at_ >= data_.size()) {
    ok_ = false;
    return 0;
  }
  return static_cast<uint8_t>(data_[at_++]);
}
uint64_t BinaryCursor::LongU64() {
  if (!ok_) return 0;
  constexpr size_t kMostBytes = 10;
  const size_t most = std::min(kMostBytes, data_.size() - at_);
  const char* const bytes = data_.data() + at_;
  uint64_t value = 0;
  for (size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    at_ += i + 1;
    return value;
  }
  at_ += most;
  ok_ = false;
  return 0;
}
std::string_view BinaryCursor::Raw(size_t bytes) {
  ok_ = ok_ && bytes <= data_.size() - at_;
  if (!ok_) return {};
  at_ += bytes;
  return data_.substr(at_ - bytes, bytes);
}
double BinaryReader::Double() {
  const std::string_view bits = Raw(8);
  double v = 0;
  if (!bits.empty()) std::memcpy(&v, bits.data(), 8);
  return v;
}
std::string_view BinaryReader::StrView() { return Raw(Count(1)); }
std::string BinaryReader::Str() { return std::string(StrView()); }
std::vector<double> BinaryReader::Doubles() {
  const size_t n = Count(8);
  std::vector<double> v(n);
  if (n > 0) std::memcpy(v.data(), Raw(n * 8).data(), n * 8);
  return v;
}
template <typename Take>
void BinaryCursor::ForEachU64(size_t count, Take take) {
  // Most numbers are encoded in one byte. A local copy keeps the position in a register.
  const char* at = data_.data() + at_;
  const char* const end = data_.data() + data_.size();
  for (size_t i = 0; i < count; ++i) {
    if (at != end && static_cast<uint8_t>(*at) < 0x80) {
      take(i, static_cast<uint8_t>(*at++));
      continue;
    }
    at_ = static_cast<size_t>(at - data_.data());
    take(i, LongU64());
    if (!ok_) return;
    at = data_.data() + at_;
  }
  at_ = static_cast<size_t>(at - data_.data());
}
std::vector<int64_t> BinaryReader::I64s() {
  std::vector<int64_t> out;
  I64s(&out);
  return out;
}
void BinaryReader::I64s(std::vector<int64_t>* out) {
  out->resize(Count(1));
  uint64_t last = 0;
  ForEachU64(out->size(), [&, to = out->data()](size_t i, uint64_t v) {
    last += (v >> 1) ^ (~(v & 1) + 1);
    to[i] = static_cast<int64_t>(last);
  });
}
std::vector<uint32_t> BinaryReader::U32s() {
  std::vector<uint32_t> out;
  U32s(&out);
  return out;
}
void BinaryReader::U32s(std::vector<uint32_t>* out) {
  out->resize(Count(1));
  ForEachU64(out->size(),
             [to = out->data()](size_t i, uint64_t v) { to[i] = static_cast<uint32_t>(v); });
}
std::vector<uint8_t> BinaryReader::Bytes() {
  const std::string_view s = StrView();
  return {s.begin(), s.end()};
}
size_t BinaryCursor::Count(size_t min_bytes) {
  const uint64_t n = U64();
  if (!ok_ || (min_bytes > 0 && n > (data_.size() - at_) / min_bytes)) {
    ok_ = false;
    return 0;
  }
  return static_cast<size_t>(n);
}
Status BinaryCursor::Finish(std::string_view what) const {
  if (!ok_) return DataLoss(Cat(what, ": damaged at byte ", at_, " of ", data_.size()));
  if (!AtEnd())
    return DataLoss(Cat(what, ": ", data_.size() - at_, " unexpected bytes after byte ", at_));
  return OkStatus();
}

}  // namespace pitwall
