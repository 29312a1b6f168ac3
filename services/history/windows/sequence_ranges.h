// Set of sequence numbers, stored as ranges. A source's batches almost always form a single range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "services/base/binary.h"

namespace pitwall::history {

class SequenceRanges {
 public:
  bool Has(uint64_t sequence) const {
    const auto next = After(sequence);
    return next != ranges_.begin() && std::prev(next)->second >= sequence;
  }
  // Returns whether this set contains every sequence number in `other`.
  bool Covers(const SequenceRanges& other) const {
    return std::ranges::all_of(other.ranges_, [this](const auto& range) {
      const auto next = After(range.first);
      return next != ranges_.begin() && std::prev(next)->second >= range.second;
    });
  }
  // Adds a sequence number. Returns false if it was already present.
  bool Add(uint64_t sequence) {
    const auto next = After(sequence);
    if (next != ranges_.begin()) {
      const auto before = std::prev(next);
      if (before->second >= sequence) return false;
      if (before->second + 1 == sequence) {
        before->second = sequence;
        if (next != ranges_.end() && next->first == sequence + 1) {
          before->second = next->second;
          ranges_.erase(next);
        }
        return true;
      }
    }
    if (next != ranges_.end() && next->first == sequence + 1) {
      next->first = sequence;
    } else {
      ranges_.insert(next, {sequence, sequence});
    }
    return true;
  }
  size_t size() const { return ranges_.size(); }

  void Save(BinaryWriter& out) const {
    out.U64(ranges_.size());
    for (const auto& [from, to] : ranges_) {
      out.U64(from);
      out.U64(to - from);
    }
  }
  void Restore(BinaryReader& in) {
    ranges_.resize(in.Count(2));
    for (auto& [from, to] : ranges_) {
      from = in.U64();
      to = from + in.U64();
    }
  }
  // Skips data written by Save.
  static void Skip(BinaryReader& in) {
    for (size_t left = in.Count(2); left > 0 && in.ok(); --left) {
      in.U64();
      in.U64();
    }
  }

 private:
  using Ranges =
      std::vector<std::pair<uint64_t, uint64_t>>;  // [first, last], ascending, never adjacent
  // Returns the first range that starts after the sequence number.
  Ranges::iterator After(uint64_t sequence) {
    return std::upper_bound(ranges_.begin(), ranges_.end(), sequence,
                            [](uint64_t s, const auto& range) { return s < range.first; });
  }
  Ranges::const_iterator After(uint64_t sequence) const {
    return std::upper_bound(ranges_.begin(), ranges_.end(), sequence,
                            [](uint64_t s, const auto& range) { return s < range.first; });
  }

  Ranges ranges_;
};

}  // namespace pitwall::history
