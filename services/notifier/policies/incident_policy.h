// Notifications per incident instead of per issue: one when an incident is found, one when it has
// ended, and in between at most one per minute, if its root cause changed, its severity rose, or
// the number of its issues doubled since the last notification.
//
// A function of the topic's events in their order, so that a restart that reads the recent events
// again reaches the same state:
//  * The events of one job at one time come together: a notice is created after the last of them.
//  * All times are event times. A delayed notice is sent as of the end of its minute, with the
//    first event of the partition at or after that time, or by the clock if there is none.
//  * An issue of a node (scope: node) that no other issue of its job explains forms one incident
//    over all jobs of the node, which includes every issue that it explains.
//  * An incident whose beginning is unknown counts as notified: a superfluous end is better than an
//    incident that stays open at its receiver.
//  * An incident is not notified while all of its open issues for the receiver are silenced. If it
//    is still open when the silences end, it is notified. Its end is sent if any notice was.
//  * Each notice names every issue of the incident so far, so each issue is in at least one notice.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/notifier/feed/recent_events.h"
#include "services/notifier/policies/delivery_options.h"
#include "services/notifier/policies/notification_policy.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {

// Of one receiver. Not thread-safe.
class IncidentPolicy final : public NotificationPolicy {
 public:
  static constexpr int64_t kMinUpdateNs = 60 * kNanosPerSecond;
  // With more issues than this, an incident sends an update and drops its ended issues, regardless
  // of the minimum interval.
  static constexpr size_t kMaxIssues = 2'000;

  // `options`: the severities, of which at least one must occur in an incident, and the types
  // (found, updated, and resolved refer to the notices). Keeps at most `max_issues` issues and
  // drops the incidents without events for the longest time first. `silences` is borrowed; may be
  // null.
  IncidentPolicy(const DeliveryOptions& options, const SilenceSet* silences, size_t max_issues);

  bool keeps_state() const override { return true; }
  // Passes on events that do not belong to issues.
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  int64_t DueNs(int32_t partition) const override;
  void SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) override;
  // Acts have separate notices, which need no change here.
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;

  std::string IncidentOf(const IssueEvent& event) const override {
    return KeyOf(event, IssueId(event));
  }

  size_t incidents() const { return incidents_.size(); }
  size_t withheld() const override;

 private:
  struct Incident {
    std::map<std::string, IssueEventPtr> issues;  // newest event by issue ID
    size_t open = 0;
    bool selected = false;  // some issue has a severity that the receiver gets
    bool notified = false;
    uint64_t sequence = 0;       // of notices
    int64_t notified_at_ns = 0;  // event time
    std::string notified_root;
    int notified_weight = 0;
    size_t notified_size = 0;
    int64_t began_ns = INT64_MAX;
    int64_t time_ns = 0;  // of its newest event
    size_t dropped = 0;   // ended issues that were notified and dropped
    std::string node;     // of an incident over all jobs of a node; "" for an incident of one job
    std::vector<std::string> aliases;  // incidents of jobs that it includes
  };
  struct Tick {
    std::string job;
    int64_t time_ns = INT64_MIN;
    int32_t partition = 0;
    int64_t undecided_from = INT64_MAX;
    FeedItem newest;
    std::set<std::string, std::less<>> touched;  // incidents
    std::set<std::string, std::less<>>
        waiting;  // have news, but were notified less than a minute ago
    // Incidents with news that are silenced, with the end of the silence.
    std::map<std::string, int64_t, std::less<>> silenced;
    uint64_t silences_version = 0;
  };

  // Returns the key in incidents_ of the issue's incident.
  std::string KeyOf(const IssueEvent& event, const std::string& issue_id) const;
  void Apply(const IssueEventPtr& event, Tick* tick);
  // Sends the delayed updates whose minute ended by `time_ns`. `offset`: of the event at that time.
  void FlushDue(Tick* tick, int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  // Returns when the silences end that cover every open issue of the incident for the receiver;
  // `time_ns` or less if an issue is not silenced then.
  int64_t SilencedUntil(const Incident& incident, int64_t time_ns, bool ended_too = false) const;
  // Computes these times again as of `time_ns`, after silences were added or ended.
  void RefreshSilenced(Tick* tick, int64_t time_ns) const;
  // Sends the incidents whose silences ended by `time_ns`.
  void FlushSilenced(Tick* tick, int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  void Decide(Tick* tick, std::vector<FeedItem>* send);
  // Returns true if the incident has ended and was dropped.
  bool DecideOne(const std::string& id, Tick* tick, std::vector<FeedItem>* send);
  // `offset`: of the first event in the notice.
  void Notify(const std::string& id, EventType kind, Incident* incident, const Tick& tick,
              int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  void Forget(const std::string& id);
  void Bound();

  const DeliveryOptions options_;
  const SilenceSet* const silences_;
  const size_t max_issues_;
  mutable std::vector<Tick> ticks_;  // by partition
  std::map<std::string, Incident, std::less<>> incidents_;
  std::map<std::string, std::string, std::less<>>
      aliases_;                                       // incident of a job -> incident of its node
  std::set<std::pair<int64_t, std::string>> by_age_;  // (time_ns, id)
  size_t issues_ = 0;
};

}  // namespace pitwall::notifier
