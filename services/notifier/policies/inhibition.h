// Notification inhibition: suppresses issues whose root cause is open and was sent to the receiver.
// This is similar to inhibition in Alertmanager, but uses the root causes that the engine found.
//
// The state is a function of the topic's events in order, so a restarted notifier that rereads the
// recent events reaches the same state:
//  * An issue found while its root cause is open is suppressed. If the cause ends first, the first
//    and the newest of the suppressed events are sent with their original IDs.
//  * If an issue was sent before its cause was found, its end is always sent.
//  * An issue on which the executor acted is always sent.
//  * A cause that the receiver does not get (its severity is filtered out) does not inhibit issues.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/policies/notification_policy.h"

namespace pitwall::notifier {

// Inhibition for one receiver. Keeps at most `max_issues` open issues. At the limit, sends the
// suppressed events of the issue that has had no events for the longest time, and drops that issue.
// Not thread-safe.
class Inhibition final : public NotificationPolicy {
 public:
  // `selects` returns true if the receiver gets the issue.
  Inhibition(std::function<bool(const IssueEvent&)> selects, size_t max_issues);

  // Processes the next event of a partition. Appends the events to send now, in order. Previously
  // suppressed events get the offset of the newest processed event. This offset must not count as
  // delivered before they are sent.
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  // Exempts the issue from inhibition and appends its suppressed events with `offset`. Returns true
  // if the issue ended without a notification.
  bool Exempt(const std::string& id, int64_t offset, std::vector<FeedItem>* send);
  int64_t UndecidedFrom(int32_t partition) const override;
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;
  void RememberActed(const std::string& issue) override;

  bool keeps_state() const override { return true; }
  uint64_t suppressed() const override { return suppressed_; }
  size_t withheld() const override { return withheld_; }

 private:
  struct Issue {
    std::string root_cause;
    bool selected = false;  // true if the receiver gets the issue's severity
    bool notified = false;  // true if an event of the issue was sent
    std::optional<FeedItem> first,
        last;                // suppressed events; `first` is set only if nothing was sent
    uint64_t undecided = 0;  // number of events suppressed since the last Decide
    int64_t time_ns = 0;     // time of the newest event
  };
  // Events of one job with the same time belong together, because they come from one evaluation or
  // from the job's end. The open root causes are known only after the last of these events.
  struct Tick {
    std::string job;
    int64_t time_ns = INT64_MIN;
    int64_t newest_offset = 0;
    int64_t undecided_from = INT64_MAX;
    std::vector<std::string> doubtful;  // IDs of issues that have not been decided yet
  };

  void OnOpen(const std::string& id, FeedItem item, Tick* tick, std::vector<FeedItem>* send);
  void OnResolved(const std::string& id, FeedItem item, Tick* tick, std::vector<FeedItem>* send);
  void Decide(Tick* tick, std::vector<FeedItem>* send);
  bool IsInhibited(const std::string& id, const Issue& issue) const;
  void Withhold(Issue* issue, FeedItem item);
  void Release(Issue* issue, int64_t offset, std::vector<FeedItem>* send);
  void SetRootCause(const std::string& id, Issue* issue, const std::string& root_cause);
  void Forget(const std::string& id);

  const std::function<bool(const IssueEvent&)> selects_;
  const size_t max_issues_;
  std::vector<Tick> ticks_;                           // indexed by partition
  std::map<std::string, Issue, std::less<>> issues_;  // open issues by ID
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>>
      symptoms_;                                      // symptoms by ID of the root cause
  std::set<std::pair<int64_t, std::string>> by_age_;  // (time_ns, issue ID)
  // Newest exempt issues, and newest issues that ended without a notification.
  std::set<std::string, std::less<>> always_, silent_;
  std::deque<std::string> always_order_, silent_order_;
  uint64_t suppressed_ = 0;
  size_t withheld_ = 0;
};

}  // namespace pitwall::notifier
