// Queue of notices that a receiver has not accepted yet, each with the time of its next attempt.
// Uses no threads, clock, or network.
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
#include "services/notifier/receivers/delivery_options.h"

namespace pitwall::notifier {

// The caller passes all times as monotonic nanoseconds. The events of each job are delivered in
// order: while an event waits for its retry, later events of the same job also wait, but events of
// other jobs do not. Not thread-safe.
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
    kDisabled,  // the receiver is gone: no further attempts, but the entry stays in the queue
    kRetry,     // retry the entry at NextAttemptNs
    kGiveUp,    // too many attempts or too old: write it to the dead-letter topic, then call Drop
  };

  // `start` is the first undelivered offset of each partition.
  DeliveryQueue(const DeliveryOptions& options, Positions start, uint64_t seed);

  size_t size() const { return entries_.size(); }
  size_t room() const {
    return options_.max_pending - std::min(options_.max_pending, entries_.size());
  }
  // Adds an item. If several items share an offset, the offset counts as delivered once all of them
  // are delivered.
  void Add(FeedItem item, int64_t now_ns);
  // Records that all events before these offsets have been added to the queue or skipped.
  void SetRead(const Positions& positions) { read_ = positions; }
  // Moves the pending items of partition `p` to `offset`, where reading starts in the replacement
  // log.
  void Rebase(int32_t p, int64_t offset);
  // Returns the first undelivered offset of each partition. The caller stores these offsets.
  Positions Delivered() const;

  // Returns the entry to send now, or null. The entry stays in the queue until it is delivered or
  // dropped.
  Entry* Due(int64_t now_ns);
  // Returns the time of the next attempt, or nullopt if the queue is empty.
  std::optional<int64_t> NextAttemptNs() const;

  // `retry_after_ns` is 0 if the reply has no Retry-After.
  Outcome OnResult(Entry* entry, Verdict::Kind verdict, int64_t retry_after_ns, int64_t now_ns);
  void Drop(Entry* entry);
  // Schedules a retry for an entry that the dead-letter topic did not accept.
  void Postpone(Entry* entry, int64_t now_ns);

  bool breaker_open() const { return failures_ >= options_.retry.breaker_failures; }

  // Number of rejections after which the queue gives up on an event.
  static constexpr int kMaxRejections = 5;
  // Pause after an authentication failure, because servers lock out clients that repeatedly send a
  // wrong password.
  static constexpr int64_t kDeniedPauseNs = int64_t{15} * 60 * kNanosPerSecond;

 private:
  int64_t Backoff(int attempts);
  bool IsHead(const Entry& entry) const;

  const DeliveryOptions options_;
  std::mt19937_64 random_;
  std::list<Entry> entries_;                     // in arrival order
  std::vector<std::multiset<int64_t>> pending_;  // undelivered offsets by partition
  Positions read_;
  int failures_ = 0;              // number of consecutive failed attempts
  int64_t blocked_until_ns_ = 0;  // set by the circuit breaker or Retry-After
};

}  // namespace pitwall::notifier
