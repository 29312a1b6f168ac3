#include "services/notifier/feed/recent_events.h"

#include <algorithm>
#include <utility>

namespace pitwall::notifier {

RecentEvents::RecentEvents(int32_t partitions, size_t max_events, size_t max_bytes)
    : max_events_(std::max<size_t>(1, max_events)),
      max_bytes_(max_bytes),
      partitions_(static_cast<size_t>(partitions)) {}

void RecentEvents::Begin(int32_t p, int64_t offset) {
  MutexLock lock(&mutex_);
  Partition& partition = partitions_[static_cast<size_t>(p)];
  partition.first = partition.next = offset;
}

void RecentEvents::Restart(int32_t p, int64_t offset) {
  MutexLock lock(&mutex_);
  Partition& partition = partitions_[static_cast<size_t>(p)];
  for (const FeedItem& item : partition.items) bytes_ -= item.bytes;
  partition.items.clear();
  std::erase(order_, p);
  partition.first = partition.next = offset;
  ++partition.epoch;
  for (Wakeup* wakeup : listeners_) wakeup->Wake();
}

uint64_t RecentEvents::Epoch(int32_t p) const {
  MutexLock lock(&mutex_);
  return partitions_[static_cast<size_t>(p)].epoch;
}

void RecentEvents::Add(int32_t p, std::vector<FeedItem> items, int64_t next_offset) {
  MutexLock lock(&mutex_);
  Partition& partition = partitions_[static_cast<size_t>(p)];
  if (items.empty() && next_offset <= partition.next) return;
  for (FeedItem& item : items) {
    bytes_ += item.bytes;
    partition.items.push_back(std::move(item));
    order_.push_back(p);
  }
  partition.next = std::max(partition.next, next_offset);
  while (order_.size() > max_events_ || (bytes_ > max_bytes_ && order_.size() > 1)) {
    Partition& oldest = partitions_[static_cast<size_t>(order_.front())];
    order_.pop_front();
    oldest.first = oldest.items.front().offset + 1;
    bytes_ -= oldest.items.front().bytes;
    oldest.items.pop_front();
  }
  for (Wakeup* wakeup : listeners_) wakeup->Wake();
}

RecentEvents::Place RecentEvents::Read(int32_t p, size_t max, int64_t* position,
                                       std::vector<FeedItem>* out) const {
  MutexLock lock(&mutex_);
  const Partition& partition = partitions_[static_cast<size_t>(p)];
  if (*position < partition.first) return Place::kBehind;
  auto at =
      std::lower_bound(partition.items.begin(), partition.items.end(), *position,
                       [](const FeedItem& item, int64_t offset) { return item.offset < offset; });
  for (size_t n = 0; at != partition.items.end(); ++at, ++n) {
    if (n == max) {
      *position = at->offset;
      return Place::kServed;
    }
    out->push_back(*at);
  }
  *position = std::max(*position, partition.next);
  return Place::kServed;
}

int64_t RecentEvents::FirstOffset(int32_t p) const {
  MutexLock lock(&mutex_);
  return partitions_[static_cast<size_t>(p)].first;
}

Positions RecentEvents::Next() const {
  MutexLock lock(&mutex_);
  Positions next;
  for (const Partition& partition : partitions_) next.push_back(partition.next);
  return next;
}

void RecentEvents::Listen(Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  listeners_.insert(wakeup);
}

void RecentEvents::Unlisten(Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  listeners_.erase(wakeup);
}

void RecentEvents::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  for (Wakeup* wakeup : listeners_) wakeup->Wake();
}

bool RecentEvents::closed() const {
  MutexLock lock(&mutex_);
  return closed_;
}

}  // namespace pitwall::notifier
