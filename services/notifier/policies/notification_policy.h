// Policy that turns topic events into the notices for one receiver.
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
  // Executor act on an issue.
  struct Acted {
    std::string issue;
    int32_t partition = 0;
    int64_t offset = 0;                 // offset of the items sent for the act
    std::vector<IssueEventPtr> events;  // known events of the issue, oldest first
    bool wanted = false;                // true if the receiver's filters accept the first event
  };

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  virtual ~NotificationPolicy() = default;

  // Returns false if each event is decided independently, so that a restart need not replay events.
  virtual bool keeps_state() const = 0;
  // Feeds the next event of its partition.
  virtual void Feed(FeedItem item, std::vector<FeedItem>* send) = 0;
  // Decides the current tick. Called after all available events of a partition were fed.
  virtual void Settle(int32_t partition, std::vector<FeedItem>* send) = 0;
  // Returns the offset of the partition's first event that an undecided event depends on; kNever if
  // no event is undecided.
  virtual int64_t UndecidedFrom(int32_t partition) const = 0;
  // Returns the time (Unix ns) at which the partition's next item becomes due without a new event,
  // or kNever.
  virtual int64_t DueNs(int32_t /*partition*/) const { return kNever; }
  // Sends the items due by `wall_ns`.
  virtual void SendDue(int32_t /*partition*/, int64_t /*wall_ns*/,
                       std::vector<FeedItem>* /*send*/) {}
  virtual void OnActed(const Acted& acted, std::vector<FeedItem>* send) = 0;
  // Returns the ID that the receiver uses for the issue's incident.
  virtual std::string IncidentOf(const IssueEvent& event) const;
  // Restores an act that was sent before a restart.
  virtual void RememberActed(const std::string& /*issue*/) {}

  // Marks the receiver as new: no event fed so far from the partition was sent to it.
  virtual void BeginReceiver(int32_t /*partition*/) {}

  // For state-based receivers: returns the newest events of the item's issues.
  virtual std::vector<IssueEventPtr> StatesOf(const FeedItem& /*item*/) const { return {}; }
  // Called after a reminder was sent or dropped.
  virtual void ReminderDone() {}

  virtual uint64_t suppressed() const { return 0; }  // number of events withheld so far
  virtual size_t withheld() const { return 0; }  // number of issues that the receiver does not know

 protected:
  // Sends the issue's first event, and its last one if the issue has ended, to a receiver whose
  // filters exclude the issue.
  static void SendFirstAndEnd(const Acted& acted, std::vector<FeedItem>* send);
};

// Policy that sends every event individually.
class EveryEvent final : public NotificationPolicy {
 public:
  bool keeps_state() const override { return false; }
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
};

}  // namespace pitwall::notifier
