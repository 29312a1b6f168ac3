// Policy that turns events of the topic into the notices of one receiver.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Not thread-safe. Appends the items to send now to `send`, in order.
class NotificationPolicy {
 public:
  // Act of the executor on an issue.
  struct Acted {
    std::string issue;
    int32_t partition = 0;
    int64_t offset = 0;                 // of the items sent for it
    std::vector<IssueEventPtr> events;  // known events of the issue, oldest first
    bool wanted = false;                // the receiver's filters pass the first of them
  };

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  virtual ~NotificationPolicy() = default;

  // Returns false if each event is decided by itself, so that a restart need not replay events.
  virtual bool keeps_state() const = 0;
  // Feeds the next event of its partition.
  virtual void Feed(FeedItem item, std::vector<FeedItem>* send) = 0;
  // Called after all available events of a partition were fed: decides the current tick.
  virtual void Settle(int32_t partition, std::vector<FeedItem>* send) = 0;
  // Returns the offset of the first event of a partition that is needed by an undecided one; kNever
  // if there is none.
  virtual int64_t UndecidedFrom(int32_t partition) const = 0;
  // Returns when the next item of a partition becomes due without a further event (Unix ns), or
  // kNever.
  virtual int64_t DueNs(int32_t /*partition*/) const { return kNever; }
  // Sends the items due by then.
  virtual void SendDue(int32_t /*partition*/, int64_t /*wall_ns*/,
                       std::vector<FeedItem>* /*send*/) {}
  virtual void OnActed(const Acted& acted, std::vector<FeedItem>* send) = 0;
  // Returns the ID under which the receiver knows the issue's incident.
  virtual std::string IncidentOf(const IssueEvent& event) const;
  // Restores an act that was sent before a restart.
  virtual void RememberActed(const std::string& /*issue*/) {}

  // Declares that the receiver is new: no event fed so far from the partition was sent to it.
  virtual void BeginReceiver(int32_t /*partition*/) {}

  // For a receiver of states: returns the newest events of the item's issues.
  virtual std::vector<IssueEventPtr> StatesOf(const FeedItem& /*item*/) const { return {}; }
  // Called after a reminder was sent or dropped.
  virtual void ReminderDone() {}

  virtual uint64_t suppressed() const { return 0; }  // events withheld so far
  virtual size_t withheld() const { return 0; }      // issues unknown to the receiver

 protected:
  // Sends the first event of an issue, and the last if it has ended, to a receiver whose filters
  // exclude the issue.
  static void SendFirstAndEnd(const Acted& acted, std::vector<FeedItem>* send);
};

// Policy that sends each event by itself.
class EveryEvent final : public NotificationPolicy {
 public:
  bool keeps_state() const override { return false; }
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
};

}  // namespace pitwall::notifier
