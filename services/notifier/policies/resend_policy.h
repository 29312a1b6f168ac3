// Reminders for a state-based receiver such as Alertmanager, which forgets alerts that receive no
// updates. Each issue is resent while it is open and for some time after its end.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/notifier/policies/policy_decorator.h"

namespace pitwall::notifier {

struct ResendPolicyOptions {
  int64_t resend_ns = 60 * kNanosPerSecond;
  // How long an issue stays active after it ended without being cleared (alertmanager.h).
  int64_t hold_ended_ns = int64_t{3600} * kNanosPerSecond;
  // How long the end of an issue is resent, so that a receiver that was down also gets it.
  int64_t repeat_ends_ns = int64_t{15} * 60 * kNanosPerSecond;
  size_t max_issues = 20'000;
  size_t batch = 100;  // maximum number of issues per reminder
};

// Resend policy for one receiver: sends the items from `inner` and reminders about their issues. At
// most one reminder is in flight. A failed reminder is not retried, because another reminder
// follows. After a restart, every issue is due immediately. Not thread-safe.
class ResendPolicy final : public PolicyDecorator {
 public:
  ResendPolicy(std::unique_ptr<NotificationPolicy> inner, ResendPolicyOptions options);

  int64_t DueNs(int32_t partition) const override;
  void SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) override;
  // Drops the ended issues, because the receiver never received them.
  void BeginReceiver(int32_t partition) override;
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
  std::vector<IssueEventPtr> StatesOf(const FeedItem& item) const override;
  void ReminderDone() override { reminding_ = false; }

  size_t issues() const { return issues_.size(); }

 private:
  struct Issue {
    int32_t partition = 0;
    IssueEventPtr event;  // newest event that was sent for the issue
    int64_t due_ns = 0;
  };
  using Due = std::set<std::pair<int64_t, std::string>>;

  void Pass(std::vector<FeedItem> items, std::vector<FeedItem>* send) override;
  void Put(const FeedItem& item);
  void Forget(const std::string& id);
  Due& DueOf(int32_t partition);
  bool Over(const IssueEvent& event, int64_t wall_ns) const;

  const ResendPolicyOptions options_;
  std::map<std::string, Issue, std::less<>> issues_;  // by issue ID
  std::vector<Due> due_;                              // indexed by partition
  bool reminding_ = false;
};

}  // namespace pitwall::notifier
