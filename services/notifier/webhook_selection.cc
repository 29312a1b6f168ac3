// Of an endpoint: which of the events that it reads it is told of, by inhibition or incident by
// incident (docs/decisions/0026-told-once.md).
#include <algorithm>
#include <utility>

#include "services/notifier/webhook_endpoint.h"

namespace pitwall::notifier {

void WebhookEndpoint::Take(std::vector<FeedItem> items, int64_t now_ns) {
  for (const FeedItem& item : items) NoteMark(item);
  if (!keeps_state()) return Enqueue(std::move(items), now_ns);
  std::vector<FeedItem> send;
  for (FeedItem& item : items) {
    const auto p = static_cast<size_t>(item.partition);
    const bool sent_before = item.offset < begin_[p];
    if (!sent_before) EndReplay(p);
    const uint64_t suppressed = inhibition_ == nullptr ? 0 : inhibition_->suppressed();
    FeedOne(std::move(item), &send);
    if (sent_before) {
      send.clear();
    } else {
      if (inhibition_ != nullptr) suppressed_.Add(inhibition_->suppressed() - suppressed);
      Enqueue(std::exchange(send, {}), now_ns);
    }
  }
  if (inhibition_ != nullptr) withheld_ = inhibition_->withheld();
}

void WebhookEndpoint::FeedOne(FeedItem item, std::vector<FeedItem>* send) {
  inhibition_ != nullptr ? inhibition_->Feed(std::move(item), send)
                         : notices_->Feed(std::move(item), send);
}

void WebhookEndpoint::SettleOne(int32_t partition, std::vector<FeedItem>* send) {
  inhibition_ != nullptr ? inhibition_->Settle(partition, send) : notices_->Settle(partition, send);
}

int64_t WebhookEndpoint::UndecidedFrom(int32_t partition) const {
  return inhibition_ != nullptr ? inhibition_->UndecidedFrom(partition)
                                : notices_->UndecidedFrom(partition);
}

void WebhookEndpoint::Settle(int64_t now_ns) {
  std::vector<FeedItem> send;
  const Positions positions = cursor_->positions();
  for (size_t p = 0; keeps_state() && p < begin_.size(); ++p) {
    // A cursor that has caught up with a topic of which little is known yet may not have reached
    // what was sent before.
    if (positions[p] < begin_[p]) continue;
    EndReplay(p);
    const uint64_t suppressed = inhibition_ == nullptr ? 0 : inhibition_->suppressed();
    SettleOne(static_cast<int32_t>(p), &send);
    if (inhibition_ != nullptr) suppressed_.Add(inhibition_->suppressed() - suppressed);
  }
  Enqueue(std::move(send), now_ns);
  if (inhibition_ != nullptr) withheld_ = inhibition_->withheld();
}

// No position is stored beyond what is undecided: what it depends on was sent too.
void WebhookEndpoint::EndReplay(size_t partition) {
  if (replaying_[partition] == 0) return;
  replaying_[partition] = 0;
  if (!keeps_state()) return;
  std::vector<FeedItem> sent;
  SettleOne(static_cast<int32_t>(partition), &sent);
}

}  // namespace pitwall::notifier
