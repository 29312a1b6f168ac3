// Policy that converts topic events into the notices for one receiver.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Appends the items to send now to `send`, in order. Not thread-safe.
class NotificationPolicy {
 public:
  // Executor action on an issue.
  struct Acted {
    std::string issue;
    int32_t partition = 0;
    int64_t offset = 0;                 // offset of the items that are sent for the action
    std::vector<IssueEventPtr> events;  // known events of the issue, oldest event first
    bool wanted = false;                // true if the receiver's filters accept the first event
  };

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  virtual ~NotificationPolicy() = default;

  // Returns false if each event is handled independently. In that case, a restart does not replay
  // events.
  virtual bool keeps_state() const = 0;
  // Processes the next event of a partition.
  virtual void Feed(FeedItem item, std::vector<FeedItem>* send) = 0;
  // Decides which events of the current tick to send. Must be called after all available events of
  // a partition have been fed.
  virtual void Settle(int32_t partition, std::vector<FeedItem>* send) = 0;
  // Returns the offset of the partition's first event on which an undecided event depends, or
  // kNever if all events are decided.
  virtual int64_t UndecidedFrom(int32_t partition) const = 0;
  // Returns the time (Unix ns) when the partition's next item is due without a new event, or
  // kNever.
  virtual int64_t DueNs(int32_t /*partition*/) const { return kNever; }
  // Sends the items that are due by `wall_ns`.
  virtual void SendDue(int32_t /*partition*/, int64_t /*wall_ns*/,
                       std::vector<FeedItem>* /*send*/) {}
  virtual void OnActed(const Acted& acted, std::vector<FeedItem>* send) = 0;
  // Returns the ID that the receiver uses for the incident of the issue.
  virtual std::string IncidentOf(const IssueEvent& event) const;
  // Restores an executor action that was sent before a restart.
  virtual void RememberActed(const std::string& /*issue*/) {}

  // Marks the receiver as new: it has received none of the partition's events that have been fed.
  virtual void BeginReceiver(int32_t /*partition*/) {}

  // For state-based receivers: returns the newest events of the issues in the item.
  virtual std::vector<IssueEventPtr> StatesOf(const FeedItem& /*item*/) const { return {}; }
  // Must be called after a reminder is sent or dropped.
  virtual void ReminderDone() {}

  virtual uint64_t suppressed() const { return 0; }  // number of events suppressed so far
  virtual size_t withheld() const { return 0; }      // issues that the receiver does not know

 protected:
  // For receivers with filters that exclude the issue: sends the issue's first event, and also its
  // last event if the issue has ended.
  static void SendFirstAndEnd(const Acted& acted, std::vector<FeedItem>* send);
};

// Policy that sends each event individually.
class EveryEvent final : public NotificationPolicy {
 public:
  bool keeps_state() const override { return false; }
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
};

}  // namespace pitwall::notifier
