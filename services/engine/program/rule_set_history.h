// Hashes of a partition's rule sets, keyed by the offset of the record that activated each rule
// set.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/time.h"

namespace pitwall::engine {

// Covers offsets back to the last ForgetBefore. Not thread-safe.
class RuleSetHistory {
 public:
  // Sets the rule set that is active before the first record, or "" for no rules.
  void Begin(const std::string& hash) { changes_ = {{LogOffset::Min(), hash}}; }
  // Records that the record at `offset` activates another rule set. Offsets must be in ascending
  // order.
  void Change(LogOffset offset, const std::string& hash) { changes_.emplace_back(offset, hash); }
  // The active rule set.
  const std::string& hash() const { return changes_.back().second; }
  // Returns the rule set that is active just before the record at `offset`.
  std::string HashAt(LogOffset offset) const {
    std::string hash;
    for (const auto& [at, changed_to] : changes_) {
      if (at >= offset) break;
      hash = changed_to;
    }
    return hash;
  }
  // Drops rule sets needed only for offsets below `offset`.
  void ForgetBefore(LogOffset offset) {
    while (changes_.size() > 1 && changes_[1].first < offset) changes_.erase(changes_.begin());
  }

 private:
  // Pairs of (offset, hash) in ascending order. The first entry covers all earlier offsets.
  std::vector<std::pair<LogOffset, std::string>> changes_ = {{LogOffset::Min(), ""}};
};

}  // namespace pitwall::engine
