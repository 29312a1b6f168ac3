// Hashes of the rule sets of a partition, by the offset of the record that brought each into force.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pitwall::engine {

// Reaches back as far as ForgetBefore left it. Not thread-safe.
class RuleSetHistory {
 public:
  // `hash` is in force before the first record; "": none is.
  void Begin(const std::string& hash) { changes_ = {{INT64_MIN, hash}}; }
  // The record at `offset` brings another one into force. Offsets ascend.
  void Change(int64_t offset, const std::string& hash) { changes_.emplace_back(offset, hash); }
  // In force now.
  const std::string& hash() const { return changes_.back().second; }
  // In force right before the record at `offset`.
  std::string HashAt(int64_t offset) const {
    std::string hash;
    for (const auto& [at, changed_to] : changes_) {
      if (at >= offset) break;
      hash = changed_to;
    }
    return hash;
  }
  // Nobody asks for offsets below this one any more.
  void ForgetBefore(int64_t offset) {
    while (changes_.size() > 1 && changes_[1].first < offset) changes_.erase(changes_.begin());
  }

 private:
  // (offset, hash), ascending; the first entry stands for everything before.
  std::vector<std::pair<int64_t, std::string>> changes_ = {{INT64_MIN, ""}};
};

}  // namespace pitwall::engine
