// Announcement of the executor that it ends a job (docs/security.md), and by whom.
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
  // Every death this soon after the announcement belongs to it.
  static constexpr int64_t kWithinNs = 300'000'000'000;

  // `at` may be any number: a rank can announce a stop too, with whatever clock.
  void Announce(int64_t at, std::string by = "") {
    at_ = std::max(at, kMinPosition + 1);
    NameBy(std::move(by));
  }
  // The job is stopped by `by`; "" changes nothing.
  void NameBy(std::string by) {
    if (!by.empty()) by_ = std::move(by);
  }
  // The stop was refused.
  void Withdraw() {
    at_.reset();
    by_.clear();
  }
  // Whether a death at that time is the end that was announced.
  bool Covers(int64_t at) const { return at_.has_value() && at >= *at_ && *at_ >= at - kWithinNs; }
  const std::optional<int64_t>& at() const { return at_; }
  // "": not known.
  const std::string& by() const { return by_; }

 private:
  std::optional<int64_t> at_;
  std::string by_;
};

}  // namespace pitwall::engine
