// Queue of the notices that one receiver has not accepted yet, with the time of each next attempt.
// Has no threads, clock, or network.
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

// Times are monotonic nanoseconds given by the caller. Delivers the events of one job in their
// order: while one waits for its retry, later events of its job wait behind it, and other jobs
// continue. Not thread-safe.
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
    kDisabled,  // the receiver is gone: no further attempts; the entry stays
    kRetry,     // retry at NextAttemptNs
    kGiveUp,    // too many attempts or too old: dead-letter it, then call Drop
  };

  // `start`: first undelivered offset of each partition.
  DeliveryQueue(const DeliveryOptions& options, Positions start, uint64_t seed);

  size_t size() const { return entries_.size(); }
  size_t room() const {
    return options_.max_pending - std::min(options_.max_pending, entries_.size());
  }
  // Adds an item. Several items may have one offset, which counts as delivered with the last of
  // them.
  void Add(FeedItem item, int64_t now_ns);
  // Declares that all events before these offsets were added or skipped.
  void SetRead(const Positions& positions) { read_ = positions; }
  // Assigns the pending items of partition `p`, whose log was replaced, to `offset`, at which
  // reading of the new log begins.
  void Rebase(int32_t p, int64_t offset);
  // Returns the first undelivered offset of each partition, to be stored.
  Positions Delivered() const;

  // Returns the entry to send now, or null. It remains until Delivered or Drop.
  Entry* Due(int64_t now_ns);
  // Returns the time of the next attempt, or nothing if the queue is empty.
  std::optional<int64_t> NextAttemptNs() const;

  // `retry_after_ns`: 0 if the reply has no Retry-After.
  Outcome OnResult(Entry* entry, Verdict::Kind verdict, int64_t retry_after_ns, int64_t now_ns);
  void Drop(Entry* entry);
  // Retries an entry later because the dead-letter topic did not accept it.
  void Postpone(Entry* entry, int64_t now_ns);

  bool breaker_open() const { return failures_ >= options_.breaker_failures; }

  // Maximum number of rejections of one event by a receiver that is alive.
  static constexpr int kMaxRejections = 5;
  // Servers lock out a client that repeats a wrong password.
  static constexpr int64_t kDeniedPauseNs = int64_t{15} * 60 * kNanosPerSecond;

 private:
  int64_t Backoff(int attempts);
  bool IsHead(const Entry& entry) const;

  const DeliveryOptions options_;
  std::mt19937_64 random_;
  std::list<Entry> entries_;                     // in the order of arrival
  std::vector<std::multiset<int64_t>> pending_;  // offsets per partition
  Positions read_;
  int failures_ = 0;              // consecutive failures of the receiver
  int64_t blocked_until_ns_ = 0;  // by the circuit breaker or Retry-After
};

}  // namespace pitwall::notifier
