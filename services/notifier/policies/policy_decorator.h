// Base class for policies that wrap another policy.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "services/notifier/policies/notification_policy.h"

namespace pitwall::notifier {

// Calls Pass with the items that `inner` sends, and tracks the newest offset of each partition.
// Items that are sent without a new event get the newest offset, so that earlier records still
// count as delivered. Not thread-safe.
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
  // Passes on the items from `inner` that are due by `wall_ns`.
  void PassDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send);
  // Returns the newest offset of the partition, or 0 if no event of the partition has been fed.
  int64_t NewestOf(int32_t partition) const;

  const std::unique_ptr<NotificationPolicy> inner_;

 private:
  std::vector<int64_t> newest_;  // newest offset by partition
};

}  // namespace pitwall::notifier
