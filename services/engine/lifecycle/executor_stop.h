// Announcement that the executor ends a job, with the initiator of the stop (docs/security.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "services/model/position.h"

namespace pitwall::engine {

// `at` and `now` are event times. Not thread-safe.
class ExecutorStop {
 public:
  // Every death within this time after the announcement belongs to the stop.
  static constexpr int64_t kWithinNs = 300'000'000'000;

  // `at` may be any number, because a rank with an arbitrary clock can announce a stop too.
  void Announce(int64_t at, std::string by = "") {
    at_ = std::max(at, kMinPosition + 1);
    NameBy(std::move(by));
  }
  // Sets the initiator of the stop. "" has no effect.
  void NameBy(std::string by) {
    if (!by.empty()) by_ = std::move(by);
  }
  // Withdraws the announcement after the stop was refused.
  void Withdraw() {
    at_.reset();
    by_.clear();
  }
  // Returns whether a death at that time belongs to the announced stop.
  bool Covers(int64_t at) const { return at_.has_value() && at >= *at_ && *at_ >= at - kWithinNs; }
  const std::optional<int64_t>& at() const { return at_; }
  // Initiator of the stop; "" if unknown.
  const std::string& by() const { return by_; }

 private:
  std::optional<int64_t> at_;
  std::string by_;
};

}  // namespace pitwall::engine
