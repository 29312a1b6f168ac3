// Queue of the notices that one receiver has not taken yet, with the time of each attempt. Has no
// threads, clock, or network.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "services/base/text/strings.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/policies/delivery_options.h"

namespace pitwall::notifier {

// Times are monotonic nanoseconds given by the caller. Events of one job are delivered in their
// order: while one waits for its retry, later ones of its job wait behind it and other jobs go on.
// Not thread-safe.
class DeliveryQueue {
 public:
  struct Entry {
    FeedItem item;
    int64_t added_ns = 0;
    int64_t not_before_ns = 0;
    int attempts = 0;
    int rejections = 0;
  };

  enum class Outcome {
    kDelivered,
    kDisabled,  // gone: no more to this receiver; the entry stays
    kRetry,     // later, see NextAttemptNs
    kGiveUp,    // too often or too long: dead-letter it, then Drop
  };

  // `start`: the first offset per partition that is not delivered.
  DeliveryQueue(const DeliveryOptions& options, Positions start, uint64_t seed);

  size_t size() const { return entries_.size(); }
  size_t room() const {
    return options_.max_pending - std::min(options_.max_pending, entries_.size());
  }
  // Several items may have one offset: it is delivered with the last of them.
  void Add(FeedItem item, int64_t now_ns);
  // All events before these offsets were added or are of no interest.
  void SetRead(const Positions& positions) { read_ = positions; }
  // The log of partition `p` was replaced: what is pending of it counts as of `offset`, from where
  // the new one is read.
  void Rebase(int32_t p, int64_t offset);
  // First offset per partition that is not delivered: what to store.
  Positions Delivered() const;

  // The entry to try now, or null. It stays until Delivered or Drop.
  Entry* Due(int64_t now_ns);
  // When Due gives something next; nothing while there is nothing to try.
  std::optional<int64_t> NextAttemptNs() const;

  // `retry_after_ns`: 0 when the answer had none.
  Outcome OnResult(Entry* entry, Verdict::Kind verdict, int64_t retry_after_ns, int64_t now_ns);
  void Drop(Entry* entry);
  // The dead-letter topic did not take it: try that again later.
  void Postpone(Entry* entry, int64_t now_ns);

  bool breaker_open() const { return failures_ >= options_.breaker_failures; }

  // An event that is rejected, by a receiver that is alive, is tried only so often.
  static constexpr int kMaxRejections = 5;
  // Servers lock out who tries a wrong password again and again.
  static constexpr int64_t kDeniedPauseNs = int64_t{15} * 60 * kNanosPerSecond;

 private:
  int64_t Backoff(int attempts);
  bool IsHead(const Entry& entry) const;

  const DeliveryOptions options_;
  std::mt19937_64 random_;
  std::list<Entry> entries_;                     // in the order of arrival
  std::vector<std::multiset<int64_t>> pending_;  // offsets per partition
  Positions read_;
  int failures_ = 0;              // in a row, of the receiver
  int64_t blocked_until_ns_ = 0;  // breaker, Retry-After
};

}  // namespace pitwall::notifier
