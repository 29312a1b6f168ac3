// Selection of the notices for one receiver, based on its filters, inhibition or incidents
// (docs/decisions/0026-notify-once-per-incident.md), silences, and executor actions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/notifier/delivery/delivery_queue.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/delivery/stored_position.h"
#include "services/notifier/feed/issue_actions.h"
#include "services/notifier/feed/issue_index.h"
#include "services/notifier/policies/notification_policy.h"
#include "services/notifier/receivers/delivery_options.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {

// Returns the policy that the options define, for at most `max_issues` issues. `silences` is
// borrowed.
std::unique_ptr<NotificationPolicy> MakePolicy(const DeliveryOptions& options,
                                               const SilenceSet* silences, size_t max_issues);

// Applies the policy of one receiver and adds the selected notices to its queue. Events before the
// start position were sent by an earlier process. They only restore the policy's state. All
// pointers are borrowed. Used by a single thread.
class NoticeSelection {
 public:
  NoticeSelection(const DeliveryOptions& options, std::unique_ptr<NotificationPolicy> policy,
                  StartPosition start, const IssueActions* acted, const IssueIndex* index,
                  DeliveryQueue* queue, ReceiverReport* report);

  // Resets the partition to `offset` in its replacement log.
  void Rebase(size_t partition, int64_t offset);
  // Restores an executor action that was sent before startup.
  void RememberActed(const std::string& issue) { policy_->RememberActed(issue); }
  // Returns true if the policy needs the events before the start position.
  bool keeps_state() const { return policy_->keeps_state(); }

  // Selects notices from the next events. All times are monotonic.
  void Take(std::vector<FeedItem> items, int64_t now_ns);
  // Decides which events of the current tick to send, once all available events have been taken.
  // `read` is the reader's position.
  void Settle(const Positions& read, int64_t now_ns);
  // Sends notices that became due without a new event. Returns the next due time (Unix ns).
  int64_t SendDue(int64_t now_ns, int64_t wall_ns);
  // Sends a new executor action. Before the action, sends the events of its issue that filters and
  // inhibition suppressed. Returns false if the action must wait. `read` is the reader's position.
  bool SendAction(const IssueActions::Act& act, const Positions& read, int64_t now_ns);
  // Returns the positions before which every event has been decided.
  Positions Decided(Positions read) const;

  // For state-based receivers: returns the newest events of the issues in the item.
  std::vector<IssueEventPtr> StatesOf(const FeedItem& item) const {
    return policy_->StatesOf(item);
  }
  // Must be called after a reminder is sent or dropped.
  void EndReminder() { policy_->ReminderDone(); }

 private:
  // Ends the replay of events that were sent before startup.
  void EndReplay(size_t partition);
  void Enqueue(std::vector<FeedItem> items, int64_t now_ns);
  // Returns the item for the executor action itself at `offset`, or nullopt if the receiver does
  // not get this action.
  std::optional<FeedItem> ItemOf(const ActionEvent& action, std::vector<IssueEventPtr> events,
                                 int32_t partition, int64_t offset) const;
  bool Passes(const IssueEvent& event);  // true if wanted, or if the executor acted on the issue

  const DeliveryOptions options_;
  const std::unique_ptr<NotificationPolicy> policy_;
  const IssueActions* const acted_;
  const IssueIndex* const index_;
  DeliveryQueue* const queue_;
  ReceiverReport* const report_;
  StartPosition start_;
  std::vector<uint8_t> replaying_;  // by partition: 1 while policy_ receives events before start_
  // IDs of filtered-out issues that were sent because the executor acted on them.
  std::set<std::string, std::less<>> exempted_;
  std::deque<std::string> exempted_order_;
};

}  // namespace pitwall::notifier
