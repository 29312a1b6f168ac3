// Silences for individual events. Incident receivers apply silences in incident_policy.h.
//
// An issue that starts during a silence is suppressed. If the issue is still open when the silence
// ends, its first and newest events are sent. If the issue was sent before the silence started, its
// updates are suppressed, but its end is sent so that no receiver keeps an open alert.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/notifier/policies/policy_decorator.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {

// Policy for one receiver that sends the items from `inner`, except for silenced items. `silences`
// is borrowed. Keeps track of up to `max_issues` issues that were sent. Not thread-safe.
class SilencedEvents final : public PolicyDecorator {
 public:
  SilencedEvents(std::unique_ptr<NotificationPolicy> inner, const SilenceSet* silences,
                 size_t max_issues);

  int64_t DueNs(int32_t partition) const override;
  void SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) override;
  // Sends the executor action even if its issue is silenced.
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
  uint64_t suppressed() const override { return inner_->suppressed() + held_; }
  size_t withheld() const override { return inner_->withheld() + silenced_.size(); }

 private:
  struct Issue {
    int32_t partition = 0;
    std::optional<FeedItem> first;  // set if no event of the issue has been sent
    FeedItem last;
    int64_t until_ns = 0;
  };
  void Pass(std::vector<FeedItem> items, std::vector<FeedItem>* send) override;
  void PassOne(FeedItem item, std::vector<FeedItem>* send);
  // Recomputes the end times after silences were added or ended.
  void Refresh() const;
  void Release(Issue issue, int64_t offset, std::vector<FeedItem>* send);
  void RememberSent(const std::string& id);

  const SilenceSet* const silences_;
  const size_t max_issues_;
  mutable std::map<std::string, Issue, std::less<>> silenced_;
  mutable uint64_t version_ = 0;
  std::set<std::string, std::less<>> sent_;
  std::deque<std::string> sent_order_;
  uint64_t held_ = 0;
};

}  // namespace pitwall::notifier
