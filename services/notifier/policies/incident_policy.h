// Notifications per incident instead of per issue. The policy sends a notice when an incident is
// found and when it has ended. In between, the policy sends at most one notice per minute, and only
// if the root cause has changed, the severity has increased, or the number of issues has doubled
// since the last notice.
//
// The state is a function of the topic's events in order, so a restarted notifier that rereads the
// recent events reaches the same state:
//  * Events of one job with the same time belong together. A notice is created after the last of
//    these events.
//  * All times are event times. The time of a delayed notice is the end of its minute. It is sent
//    with the partition's first event at or after that time. Without such an event, the clock
//    triggers it.
//  * A node issue (scope: node) that no other issue of its job explains forms one incident across
//    all jobs on the node. The incident includes every issue that the node issue explains.
//  * An incident with an unknown start counts as notified, because a superfluous end notice is
//    better than an incident that stays open at its receiver.
//  * No notices are sent while silences cover all of the incident's open issues for the receiver.
//    If the incident is still open when the silences end, a notice is sent. The end notice is sent
//    if any other notice was sent.
//  * Each notice lists all issues of the incident so far, so each issue is in at least one notice.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/notifier/feed/recent_events.h"
#include "services/notifier/policies/incident_table.h"
#include "services/notifier/policies/notification_policy.h"
#include "services/notifier/receivers/delivery_options.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {

// Incident policy for one receiver. Not thread-safe.
class IncidentPolicy final : public NotificationPolicy {
 public:
  static constexpr int64_t kMinUpdateNs = 60 * kNanosPerSecond;
  // Maximum number of issues in an incident. Above this limit, the policy sends an update
  // regardless of the minimum interval and drops the incident's ended issues.
  static constexpr size_t kMaxIssues = 2'000;

  // `options` defines the severities and the types. At least one issue of an incident must have one
  // of the severities. The types found, updated, and resolved refer to the notices. Keeps at most
  // `max_issues` issues. At the limit, drops the incidents that have had no events for the longest
  // time. `silences` is borrowed and may be null.
  IncidentPolicy(const DeliveryOptions& options, const SilenceSet* silences, size_t max_issues);

  bool keeps_state() const override { return true; }
  // Forwards events that do not belong to an issue.
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  int64_t DueNs(int32_t partition) const override;
  void SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) override;
  // Executor actions get separate notices, so the incident does not change.
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;

  std::string IncidentOf(const IssueEvent& event) const override {
    return incidents_.KeyOf(event, IssueId(event));
  }

  size_t incidents() const { return incidents_.size(); }
  size_t withheld() const override;

 private:
  struct Tick {
    std::string job;
    int64_t time_ns = INT64_MIN;
    int32_t partition = 0;
    int64_t undecided_from = INT64_MAX;
    FeedItem newest;
    std::set<std::string, std::less<>> touched;  // IDs of changed incidents
    std::set<std::string, std::less<>>
        waiting;  // changed incidents with a notice less than a minute ago
    // Silenced incidents with changes, and the times when their silences end.
    std::map<std::string, int64_t, std::less<>> silenced;
    uint64_t silences_version = 0;
  };

  void Apply(const IssueEventPtr& event, Tick* tick);
  // Sends the delayed updates that are due by `time_ns`, at the end of their minute. `offset` is
  // the offset of the event at that time.
  void FlushDue(Tick* tick, int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  // Returns the time until which silences cover every open issue of the incident for the receiver.
  // If any issue is not silenced at `time_ns`, the result is at most `time_ns`.
  int64_t SilencedUntil(const Incident& incident, int64_t time_ns, bool ended_too = false) const;
  // Recomputes the end times of the silences as of `time_ns` if silences were added or ended.
  void RefreshSilenced(Tick* tick, int64_t time_ns) const;
  // Sends notices about the incidents that are no longer silenced at `time_ns`.
  void FlushSilenced(Tick* tick, int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  void Decide(Tick* tick, std::vector<FeedItem>* send);
  // Returns true if the incident has ended and was dropped.
  bool DecideOne(const std::string& id, Tick* tick, std::vector<FeedItem>* send);
  // `offset` is the offset of the first event that the notice covers.
  void Notify(const std::string& id, EventType kind, Incident* incident, const Tick& tick,
              int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);

  const DeliveryOptions options_;
  const SilenceSet* const silences_;
  mutable std::vector<Tick> ticks_;  // indexed by partition
  IncidentTable incidents_;
};

}  // namespace pitwall::notifier
