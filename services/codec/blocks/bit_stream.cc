#include "services/codec/blocks/bit_stream.h"

#include <algorithm>

namespace pitwall::blocks {

void BitWriter::Put(uint64_t bits, int count) {
  while (count > 0) {
    const int room = 8 - used_;
    const int now = std::min(room, count);
    const uint64_t part = (bits >> (count - now)) & ((uint64_t{1} << now) - 1);
    pending_ = pending_ << now | part;
    used_ += now;
    count -= now;
    if (used_ == 8) {
      out_.push_back(static_cast<char>(pending_));
      pending_ = 0;
      used_ = 0;
    }
  }
}

void BitWriter::Finish() {
  if (used_ > 0) Put(0, 8 - used_);
}

uint64_t BitReader::Get(int count) {
  if (at_ + static_cast<uint64_t>(count) > data_.size() * 8) {
    ok_ = false;
    at_ = data_.size() * 8;
    return 0;
  }
  uint64_t out = 0;
  while (count > 0) {
    const auto byte = static_cast<uint8_t>(data_[at_ / 8]);
    const int left = 8 - static_cast<int>(at_ % 8);
    const int now = std::min(left, count);
    const uint64_t part = (byte >> (left - now)) & ((1u << now) - 1);
    out = out << now | part;
    at_ += static_cast<uint64_t>(now);
    count -= now;
  }
  return out;
}

bool BitReader::AtEnd() const {
  if (!ok_) return false;
  const uint64_t end = data_.size() * 8;
  if (end - at_ >= 8) return false;
  BitReader rest = *this;
  return rest.Get(static_cast<int>(end - at_)) == 0;
}

}  // namespace pitwall::blocks
