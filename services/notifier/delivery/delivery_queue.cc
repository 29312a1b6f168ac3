#include "services/notifier/delivery/delivery_queue.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace pitwall::notifier {

DeliveryQueue::DeliveryQueue(const DeliveryOptions& options, Positions start, uint64_t seed)
    : options_(options), random_(seed), pending_(start.size()), read_(std::move(start)) {}

void DeliveryQueue::Add(FeedItem item, int64_t now_ns) {
  pending_[static_cast<size_t>(item.partition)].insert(item.offset);
  entries_.push_back({std::move(item), now_ns, now_ns, 0, 0});
}

void DeliveryQueue::Rebase(int32_t p, int64_t offset) {
  auto& pending = pending_[static_cast<size_t>(p)];
  pending.clear();
  for (Entry& entry : entries_) {
    if (entry.item.partition != p) continue;
    entry.item.offset = offset;
    pending.insert(offset);
  }
  read_[static_cast<size_t>(p)] = offset;
}

Positions DeliveryQueue::Delivered() const {
  Positions out = read_;
  for (size_t p = 0; p < out.size(); ++p) {
    if (!pending_[p].empty()) out[p] = std::min(out[p], *pending_[p].begin());
  }
  return out;
}

bool DeliveryQueue::IsHead(const Entry& entry) const {
  for (const Entry& other : entries_) {
    if (&other == &entry) return true;
    if (other.item.event->job == entry.item.event->job) return false;
  }
  return true;
}

DeliveryQueue::Entry* DeliveryQueue::Due(int64_t now_ns) {
  if (now_ns < blocked_until_ns_) return nullptr;
  Entry* best = nullptr;
  absl::flat_hash_set<std::string_view, absl::Hash<std::string_view>> jobs;
  for (Entry& entry : entries_) {
    if (!jobs.insert(entry.item.event->job).second || entry.not_before_ns > now_ns) continue;
    if (best == nullptr || entry.not_before_ns < best->not_before_ns) best = &entry;
  }
  return best;
}

std::optional<int64_t> DeliveryQueue::NextAttemptNs() const {
  std::optional<int64_t> next;
  for (const Entry& entry : entries_) {
    if (next && entry.not_before_ns >= *next) continue;
    if (IsHead(entry)) next = entry.not_before_ns;
  }
  if (next) next = std::max(*next, blocked_until_ns_);
  return next;
}

int64_t DeliveryQueue::Backoff(int attempts) {
  const int64_t limit = options_.retry.BackoffLimitNs(attempts);
  return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit + 1));
}

DeliveryQueue::Outcome DeliveryQueue::OnResult(Entry* entry, Verdict::Kind verdict,
                                               int64_t retry_after_ns, int64_t now_ns) {
  if (verdict == Verdict::Kind::kTaken) {
    failures_ = 0;
    Drop(entry);
    return Outcome::kDelivered;
  }
  if (verdict == Verdict::Kind::kGone) return Outcome::kDisabled;
  ++entry->attempts;
  entry->not_before_ns = now_ns + Backoff(entry->attempts);
  if (retry_after_ns > 0) {
    // Retry-After applies to the whole receiver, not only to this event.
    blocked_until_ns_ = now_ns + retry_after_ns;
    entry->not_before_ns = std::max(entry->not_before_ns, blocked_until_ns_);
  }
  if (verdict == Verdict::Kind::kRejected) {
    failures_ = 0;  // the receiver replied, so it is working
    if (++entry->rejections >= kMaxRejections) return Outcome::kGiveUp;
  } else if (verdict != Verdict::Kind::kThrottled) {
    ++failures_;
    if (verdict == Verdict::Kind::kDenied) blocked_until_ns_ = now_ns + kDeniedPauseNs;
    if (breaker_open()) {
      blocked_until_ns_ = std::max(blocked_until_ns_, now_ns + options_.retry.breaker_pause_ns);
    }
  }
  return now_ns - entry->added_ns >= options_.retry.give_up_after_ns ? Outcome::kGiveUp
                                                                     : Outcome::kRetry;
}

void DeliveryQueue::Drop(Entry* entry) {
  auto& pending = pending_[static_cast<size_t>(entry->item.partition)];
  pending.erase(pending.find(entry->item.offset));
  entries_.remove_if([entry](const Entry& other) { return &other == entry; });
}

void DeliveryQueue::Postpone(Entry* entry, int64_t now_ns) {
  entry->not_before_ns = std::max(entry->not_before_ns, now_ns + options_.retry.first_backoff_ns);
}

}  // namespace pitwall::notifier
