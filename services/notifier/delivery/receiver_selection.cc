// Part of ReceiverWorker: selects the events to send, either by inhibition or by incident
// (docs/decisions/0026-notify-once-per-incident.md).
#include <algorithm>
#include <utility>

#include "services/notifier/delivery/receiver_worker.h"

namespace pitwall::notifier {

void ReceiverWorker::Take(std::vector<FeedItem> items, int64_t now_ns) {
  for (const FeedItem& item : items) NoteMark(item);
  if (!policy_->keeps_state()) return Enqueue(std::move(items), now_ns);
  std::vector<FeedItem> send;
  for (FeedItem& item : items) {
    const auto p = static_cast<size_t>(item.partition);
    const bool sent_before = item.offset < begin_[p];
    if (!sent_before) EndReplay(p);
    const uint64_t suppressed = policy_->suppressed();
    policy_->Feed(std::move(item), &send);
    if (sent_before) {
      send.clear();
    } else {
      suppressed_.Add(policy_->suppressed() - suppressed);
      Enqueue(std::exchange(send, {}), now_ns);
    }
  }
  withheld_ = policy_->withheld();
}

void ReceiverWorker::Settle(int64_t now_ns) {
  std::vector<FeedItem> send;
  const Positions positions = cursor_->positions();
  for (size_t p = 0; policy_->keeps_state() && p < begin_.size(); ++p) {
    // If only part of the topic is available, the cursor may have caught up without reaching the
    // events that were sent before this start.
    if (positions[p] < begin_[p]) continue;
    EndReplay(p);
    const uint64_t suppressed = policy_->suppressed();
    policy_->Settle(static_cast<int32_t>(p), &send);
    suppressed_.Add(policy_->suppressed() - suppressed);
  }
  Enqueue(std::move(send), now_ns);
  withheld_ = policy_->withheld();
}

int64_t ReceiverWorker::SendDue(int64_t now_ns) {
  const int64_t wall_ns = clock_->WallNs();
  int64_t next = NotificationPolicy::kNever;
  for (size_t p = 0; p < begin_.size(); ++p) {
    const auto partition = static_cast<int32_t>(p);
    if (replaying_[p] != 0) continue;
    std::vector<FeedItem> send;
    // If the queue is full, due notices wait for the next iteration.
    if (policy_->DueNs(partition) <= wall_ns && queue_->room() > 0)
      policy_->SendDue(partition, wall_ns, &send);
    Enqueue(std::move(send), now_ns);
    next = std::min(next, policy_->DueNs(partition));
  }
  pending_ = queue_->size();
  return next <= wall_ns ? NotificationPolicy::kNever : next;
}

// The stored position never passes an undecided event. All events that the replay decides on have
// therefore been sent.
void ReceiverWorker::EndReplay(size_t partition) {
  if (replaying_[partition] == 0) return;
  replaying_[partition] = 0;
  if (!policy_->keeps_state()) return;
  std::vector<FeedItem> sent;
  policy_->Settle(static_cast<int32_t>(partition), &sent);
  if (new_[partition] != 0) policy_->BeginReceiver(static_cast<int32_t>(partition));
}

}  // namespace pitwall::notifier
