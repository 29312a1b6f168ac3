// Base of policies between another one and the receiver.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "services/notifier/policies/notification_policy.h"

namespace pitwall::notifier {

// Hands what `inner` sends to Pass, and knows the newest offset of each partition: what is sent
// without a further event counts as of that one, so that what was read before it stays delivered.
// Not thread-safe.
class PolicyDecorator : public NotificationPolicy {
 public:
  bool keeps_state() const override { return true; }
  void Feed(FeedItem item, std::vector<FeedItem>* send) final;
  void Settle(int32_t partition, std::vector<FeedItem>* send) final;
  int64_t UndecidedFrom(int32_t partition) const override {
    return inner_->UndecidedFrom(partition);
  }
  void RememberActed(const std::string& issue) override { inner_->RememberActed(issue); }
  uint64_t suppressed() const override { return inner_->suppressed(); }
  size_t withheld() const override { return inner_->withheld(); }

 protected:
  explicit PolicyDecorator(std::unique_ptr<NotificationPolicy> inner) : inner_(std::move(inner)) {}

  virtual void Pass(std::vector<FeedItem> items, std::vector<FeedItem>* send) = 0;
  // What of `inner` is due by then.
  void PassDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send);
  // 0: nothing of the partition was fed.
  int64_t NewestOf(int32_t partition) const;

  const std::unique_ptr<NotificationPolicy> inner_;

 private:
  std::vector<int64_t> newest_;  // offset, by partition
};

}  // namespace pitwall::notifier
