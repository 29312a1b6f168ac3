// Notifications of incidents instead of single issues: one notification when an incident is
// found, one when it has ended, and in between at most one a minute, when its root cause is
// another, its severity higher, or its issues twice as many as last told.
//
// A function of the topic's events in their order, so that a restart that reads the recent ones
// again knows what was sent:
//  * The events of one job at one time come together: a notice is made after the last of them.
//  * All times are event times: what had to wait is told as of the end of its minute, with the
//  first
//    event of the partition that is as late, or by the clock where none comes.
//  * An issue of a node (scope: node) that no other issue of its job explains is one over all jobs
//  of
//    the node, and what it explains in any of them belongs to it.
//  * An incident of which the beginning is not known counts as told: an end too many is better than
//    an incident that stays open with its receiver.
//  * An incident of which every open issue that the receiver gets is silenced is not told; when the
//    silences end and it is still open, it is. Its end is told if anything of it was.
//  * Each notice names every issue of the incident so far, so each issue is in at least one.
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
  // Beyond so many issues of one incident the ended ones are told and dropped, whatever the time.
  static constexpr size_t kMaxIssues = 2'000;

  // `options`: the severities of which at least one must occur in an incident, and the types
  // (found, updated and resolved stand for the notices). Knows at most `max_issues` issues: the
  // incidents heard of least lately are forgotten first. `silences` is borrowed; null: none.
  IncidentPolicy(const DeliveryOptions& options, const SilenceSet* silences, size_t max_issues);

  bool keeps_state() const override { return true; }
  // Events that are not of issues are passed on.
  void Feed(FeedItem item, std::vector<FeedItem>* send) override;
  void Settle(int32_t partition, std::vector<FeedItem>* send) override;
  int64_t UndecidedFrom(int32_t partition) const override;
  int64_t DueNs(int32_t partition) const override;
  void TellDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) override;
  // What was acted on is told apart, as it is now.
  void OnActed(const Acted& acted, std::vector<FeedItem>* send) override;

  std::string IncidentOf(const IssueEvent& event) const override {
    return KeyOf(event, IssueId(event));
  }

  size_t incidents() const { return incidents_.size(); }
  size_t withheld() const override;

 private:
  struct Incident {
    std::map<std::string, IssueEventPtr> issues;  // newest event by id of the issue
    size_t open = 0;
    bool heard = false;  // some issue has a severity that the receiver wants
    bool told = false;
    uint64_t sequence = 0;   // of notices
    int64_t told_at_ns = 0;  // event time
    std::string told_root;
    int told_weight = 0;
    size_t told_size = 0;
    int64_t began_ns = INT64_MAX;
    int64_t time_ns = 0;               // of its newest event
    size_t dropped = 0;                // ended issues that were told and dropped
    std::string node;                  // of which it is, over all jobs; "": it is of one job
    std::vector<std::string> aliases;  // incidents of jobs that it stands for
  };
  struct Tick {
    std::string job;
    int64_t time_ns = INT64_MIN;
    int32_t partition = 0;
    int64_t undecided_from = INT64_MAX;
    FeedItem newest;
    std::set<std::string, std::less<>> touched;  // incidents
    std::set<std::string, std::less<>> waiting;  // have news, told less than a minute ago
    // Incidents with news that are silenced, and until when.
    std::map<std::string, int64_t, std::less<>> silenced;
    uint64_t silences_version = 0;
  };

  // By what the issue's incident is known here.
  std::string KeyOf(const IssueEvent& event, const std::string& issue_id) const;
  void Apply(const IssueEventPtr& event, Tick* tick);
  // Updates that waited and whose minute was over at `time_ns`; `offset`: of the event that shows
  // it.
  void FlushDue(Tick* tick, int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  // When the last of its open issues that the receiver gets is silenced no more; `time_ns` or less:
  // one of them is not silenced then.
  int64_t SilencedUntil(const Incident& incident, int64_t time_ns, bool ended_too = false) const;
  // The same as of `time_ns`, after silences were added or ended.
  void RefreshSilenced(Tick* tick, int64_t time_ns) const;
  // Incidents whose silences were over at `time_ns`.
  void FlushSilenced(Tick* tick, int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  void Decide(Tick* tick, std::vector<FeedItem>* send);
  // True: the incident is over and forgotten.
  bool DecideOne(const std::string& id, Tick* tick, std::vector<FeedItem>* send);
  // `offset`: of the first event that the notice is made of.
  void Tell(const std::string& id, EventType kind, Incident* incident, const Tick& tick,
            int64_t time_ns, int64_t offset, std::vector<FeedItem>* send);
  void Forget(const std::string& id);
  void Bound();

  const DeliveryOptions options_;
  const SilenceSet* const silences_;
  const size_t max_issues_;
  mutable std::vector<Tick> ticks_;  // by partition
  std::map<std::string, Incident, std::less<>> incidents_;
  std::map<std::string, std::string, std::less<>> aliases_;  // incidents of jobs -> of their node
  std::set<std::pair<int64_t, std::string>> by_age_;         // (time_ns, id)
  size_t issues_ = 0;
};

}  // namespace pitwall::notifier
