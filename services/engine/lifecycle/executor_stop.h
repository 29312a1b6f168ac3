// Announcement that the executor is ending a job, and the initiator of the stop (docs/security.md).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "services/base/time.h"

namespace pitwall::engine {

// `at` and `now` are event times. Not thread-safe.
class ExecutorStop {
 public:
  // Every death within this time after the announcement is attributed to the stop.
  static constexpr Duration kWithin = Duration::Minutes(5);

  // `at` may be any time, because a rank with an arbitrary clock can also announce a stop.
  void Announce(EventTime at, std::string by = "") {
    at_ = std::max(at, EventTime::Earliest().Next());
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
  // Returns whether a death at `at` is attributed to the announced stop.
  bool Covers(EventTime at) const { return at_.has_value() && at >= *at_ && *at_ >= at - kWithin; }
  const std::optional<EventTime>& at() const { return at_; }
  // Initiator of the stop; "" if unknown.
  const std::string& by() const { return by_; }

 private:
  std::optional<EventTime> at_;
  std::string by_;
};

}  // namespace pitwall::engine
