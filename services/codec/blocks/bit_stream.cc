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

}  // namespace pitwall::blocks
