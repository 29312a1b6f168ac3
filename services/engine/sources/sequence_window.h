// Window of the last 1024 sequence numbers of one (source, boot ID), and the count of missing
// numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "services/base/binary.h"

namespace pitwall::engine {

class SequenceWindow {
 public:
  static constexpr uint64_t kWidth = 1024;

  // Records a sequence number. Returns false for a duplicate, or if the number is too old to check.
  // If `first` is not 0, numbering restarted there, and no smaller number counts as missing.
  bool Accept(uint64_t sequence, uint64_t first = 0) {
    if (sequence == 0) return false;  // Sequence numbers start at 1.
    if (sequence > highest_) {
      const uint64_t step = sequence - highest_;
      if (step >= kWidth) {
        bits_.fill(0);
      } else {
        for (uint64_t s = highest_ + 1; s < sequence; ++s) Clear(s);
      }
      // The first number may have any value, because batches before it do not count as missing.
      const uint64_t below = first <= sequence ? std::max(highest_ + 1, first) : highest_ + 1;
      if (highest_ > 0) missing_ += sequence - below;
      highest_ = sequence;
      Set(sequence);
      return true;
    }
    if (highest_ - sequence >= kWidth || Has(sequence)) return false;
    Set(sequence);
    if (missing_ > 0) --missing_;
    return true;
  }
  uint64_t missing() const { return missing_; }
  uint64_t highest() const { return highest_; }

  void Save(BinaryWriter& out) const {
    out.U64(highest_);
    out.U64(missing_);
    for (const uint64_t word : bits_) out.U64(word);
  }
  void Restore(BinaryReader& in) {
    highest_ = in.U64();
    missing_ = in.U64();
    for (uint64_t& word : bits_) word = in.U64();
  }

 private:
  void Set(uint64_t s) { bits_[(s % kWidth) / 64] |= 1ULL << (s % 64); }
  void Clear(uint64_t s) { bits_[(s % kWidth) / 64] &= ~(1ULL << (s % 64)); }
  bool Has(uint64_t s) const { return (bits_[(s % kWidth) / 64] >> (s % 64)) & 1; }

  uint64_t highest_ = 0;
  uint64_t missing_ = 0;
  std::array<uint64_t, kWidth / 64> bits_{};
};

}  // namespace pitwall::engine
