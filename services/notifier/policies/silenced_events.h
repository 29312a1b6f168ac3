// Events of issues without those that a silence holds back. What a receiver is told of incidents
// has its silences in incident_policy.h.
//
// An issue that begins under a silence is not told; when the silence ends and the issue is still
// open, its first and its newest event are sent. An issue that was told before is told its end, so
// that no receiver is left with an open alert; its updates wait.
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

// Of one receiver: what `inner` sends, less what is silenced. `silences` is borrowed. Remembers
// `max_issues` issues that were told. Not thread-safe.
class SilencedEvents final : public PolicyDecorator {
 public:
  SilencedEvents(std::unique_ptr<NotificationPolicy> inner, const SilenceSet* silences,
                 size_t max_issues);

  int64_t DueNs(int32_t partition) const override;
  void TellDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) override;
  // What was acted on is told, silence or not.
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
  uint64_t suppressed() const override { return inner_->suppressed() + held_; }
  size_t withheld() const override { return inner_->withheld() + silenced_.size(); }

 private:
  struct Issue {
    int32_t partition = 0;
    std::optional<FeedItem> first;  // of an issue that was not told
    FeedItem last;
    int64_t until_ns = 0;
  };
  void Pass(std::vector<FeedItem> items, std::vector<FeedItem>* send) override;
  void PassOne(FeedItem item, std::vector<FeedItem>* send);
  // Silences were added or ended since the times were computed.
  void Refresh() const;
  void Release(Issue issue, int64_t offset, std::vector<FeedItem>* send);
  void RememberTold(const std::string& id);

  const SilenceSet* const silences_;
  const size_t max_issues_;
  mutable std::map<std::string, Issue, std::less<>> silenced_;
  mutable uint64_t version_ = 0;
  std::set<std::string, std::less<>> told_;
  std::deque<std::string> told_order_;
  uint64_t held_ = 0;
};

}  // namespace pitwall::notifier
