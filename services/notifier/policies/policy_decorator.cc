#include "services/notifier/policies/policy_decorator.h"

namespace pitwall::notifier {

void PolicyDecorator::Feed(FeedItem item, std::vector<FeedItem>* send) {
  const auto p = static_cast<size_t>(item.partition);
  if (p >= newest_.size()) newest_.resize(p + 1, 0);
  newest_[p] = item.offset;
  std::vector<FeedItem> out;
  inner_->Feed(std::move(item), &out);
  Pass(std::move(out), send);
}

void PolicyDecorator::Settle(int32_t partition, std::vector<FeedItem>* send) {
  std::vector<FeedItem> out;
  inner_->Settle(partition, &out);
  Pass(std::move(out), send);
}

void PolicyDecorator::PassDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) {
  if (inner_->DueNs(partition) > wall_ns) return;
  std::vector<FeedItem> out;
  inner_->SendDue(partition, wall_ns, &out);
  Pass(std::move(out), send);
}

int64_t PolicyDecorator::NewestOf(int32_t partition) const {
  const auto p = static_cast<size_t>(partition);
  return p < newest_.size() ? newest_[p] : 0;
}

}  // namespace pitwall::notifier
