// Incidents of a job and the root causes of its issues
// (docs/decisions/0012-group-issues-into-incidents.md).
//
// A new issue joins the open incident of the first related issue, in this order:
//  * its cause, if open,
//  * a symptom without a known cause, unless other ranks or nodes had the symptom before the new
//    issue began,
//  * its cause, if recently ended,
//  * an issue of the same alert with a close onset,
//  * a job-wide issue that could have the same cause, if the new issue is job-wide too.
// Otherwise, the issue opens an incident, because simultaneous issues are separate incidents unless
// a rule relates them. An issue never moves to another incident. The root cause of an issue is the
// top of the chain of open issues that explain it, and can change. When all issues in the chain
// have ended, the last root cause is kept. All results depend only on the events and their order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/engine/incidents/issue_causes.h"
#include "services/engine/incidents/open_issues.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/limits.h"
#include "services/model/issues/issue.h"

namespace pitwall::engine {

// Tracker for one job's incidents across all clocks. Not thread-safe.
class IncidentTracker {
 public:
  struct RootCauseChange {
    std::string rule;
    Labels labels;
    std::string root_cause;
    bool told;  // already reported by an event of this Apply
  };

  // `counters` is borrowed.
  IncidentTracker(const EngineOptions& options, EngineCounters* counters);

  // Replaces the rule set. Relations missing from the new rule set no longer apply, starting with
  // the next Apply. Null means no rules.
  void SetProgram(const plan::Program* program);

  // Returns the node of each of the job's ranks, or "" if the node is unknown.
  using NodesOfRanks = std::function<const StringMap<std::string>&()>;

  // Applies, in order, the events from one evaluation or from one call that ends issues; `nodes_of`
  // may be null. Sets the incident of each issue event, and the root cause of found and updated
  // issues. Returns the open issues whose root cause has changed, so that the caller can update
  // their alert state.
  std::vector<RootCauseChange> Apply(std::span<IssueEvent> events,
                                     const NodesOfRanks& nodes_of = nullptr);

  // Must be called when the job has ended.
  void Clear();

  size_t issues() const { return issues_.size(); }
  size_t open_incidents() const { return incidents_.size(); }
  // Estimates memory use. IDs, names, and labels account for most of it.
  size_t MemoryBytes() const { return issues_.size() * (sizeof(TrackedIssue) + 512); }

  // Saves and restores bit-exactly. Restore replaces all state except the program. Damaged data
  // puts the reader into the failed state.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  // Returns null if the limit on tracked issues is reached.
  TrackedIssue* Begin(const IssueEvent& event, const std::string& id, const NodesOfRanks& nodes_of);
  // Records the event's time if the issue's value has risen by half.
  void NoteRise(TrackedIssue* issue, const IssueEvent& event);
  void Join(TrackedIssue* issue);
  void Open(TrackedIssue* issue);
  void End(TrackedIssue* issue, const IssueEvent& event, const NodesOfRanks& nodes_of);
  // Sets `everywhere` on the open issues of this alert: whether they cover all of the job's nodes
  // or ranks.
  void FindEverywhere(TrackedIssue* changed, const NodesOfRanks& nodes_of);
  void Forget(const std::string& id);
  void ForgetEndedBefore(EventTime time);
  void FindRootCauses(std::vector<RootCauseChange>* changed);
  // Returns the end of the chain of open causes, or the issue itself if it has no cause.
  const TrackedIssue* TopOf(const TrackedIssue* issue);

  const Duration window_;
  const size_t max_issues_;
  EngineCounters* const counters_;
  IssueCauses explanations_;
  std::map<std::string, std::unique_ptr<TrackedIssue>, std::less<>> issues_;  // by ID
  std::set<std::pair<EventTime, std::string>> ended_;                         // (ended_at, ID)
  std::map<std::string, size_t, std::less<>> incidents_;  // ID -> number of open issues
  OpenIssues open_;
  EventTime now_ = EventTime::Min();                 // newest event time
  bool dirty_ = false;                               // root causes may have changed
  uint64_t serial_ = 0;                              // number of the current Apply
  std::vector<std::unique_ptr<TrackedIssue>> gone_;  // removed in the current Apply
};

}  // namespace pitwall::engine
