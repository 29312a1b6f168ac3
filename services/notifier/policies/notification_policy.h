// Policy that turns events of the topic into the notices of one receiver.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Not thread-safe. What is to be sent now is appended to `send`, in order.
class NotificationPolicy {
 public:
  // An act of the executor on an issue.
  struct Acted {
    std::string issue;
    int32_t partition = 0;
    int64_t offset = 0;  // of what is sent for it
    std::vector<IssueEventPtr>
        events;           // of the issue as far as they are known, the first ones first
    bool wanted = false;  // the receiver gets the first of them by its filters
  };

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  virtual ~NotificationPolicy() = default;

  // False: an event is sent or not by itself, so what was read before a restart need not be fed
  // again.
  virtual bool keeps_state() const = 0;
  // The next event of its partition.
  virtual void Feed(FeedItem item, std::vector<FeedItem>* send) = 0;
  // Everything of a partition that there is has been fed: what depends on the rest of a tick is
  // decided.
  virtual void Settle(int32_t partition, std::vector<FeedItem>* send) = 0;
  // The offset of the first event of a partition on which something undecided depends; kNever:
  // nothing does.
  virtual int64_t UndecidedFrom(int32_t partition) const = 0;
  // When something of a partition becomes due without a further event (Unix ns); kNever: nothing.
  virtual int64_t DueNs(int32_t /*partition*/) const { return kNever; }
  // What is due by then.
  virtual void TellDue(int32_t /*partition*/, int64_t /*wall_ns*/,
                       std::vector<FeedItem>* /*send*/) {}
  virtual void OnActed(const Acted& acted, std::vector<FeedItem>* send) = 0;
  // Under what the receiver is told of the issue's incident.
  virtual std::string IncidentOf(const IssueEvent& event) const;
  // An act of which the receiver was told before a restart.
  virtual void RememberActed(const std::string& /*issue*/) {}

  // The receiver is new: nothing of the partition that was fed so far was sent to it.
  virtual void BeginReceiver(int32_t /*partition*/) {}

  // For a receiver of states: the newest events of the issues that an item is of.
  virtual std::vector<IssueEventPtr> StatesOf(const FeedItem& /*item*/) const { return {}; }
  // A reminder was sent, or is dropped.
  virtual void ReminderDone() {}

  virtual uint64_t suppressed() const { return 0; }  // events withheld so far
  virtual size_t withheld() const { return 0; }      // issues that the receiver does not know of

 protected:
  // The first event, and the last if it ended: for a receiver that its filters would not tell.
  static void TellFirstAndEnd(const Acted& acted, std::vector<FeedItem>* send);
};

// Each event by itself.
class EveryEvent final : public NotificationPolicy {
 public:
  bool keeps_state() const override { return false; }
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
};

}  // namespace pitwall::notifier
