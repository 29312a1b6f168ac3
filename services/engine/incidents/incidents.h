// Incidents of a job and the root causes of its issues
// (docs/decisions/0012-group-issues-into-incidents.md).
//
// A new issue joins the open incident of an issue to which the rules tie it: of its cause, of a
// symptom that nothing explains yet (but what other ranks or nodes had before is no symptom of
// this one), of one of the same alert with an onset close to its own, or,
// where both concern the job as a whole, of one that the same cause could explain. Else it opens an
// incident: two troubles that no rule relates are two, even at one time. Its incident never
// changes. Its root cause does: the top of the chain of open issues that explain it; when all of
// these have ended, what it was last. A function of the events alone, in their order.
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
#include "services/engine/incidents/issue_causes.h"
#include "services/engine/incidents/open_issues.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/limits.h"
#include "services/model/issues/issue.h"

namespace pitwall::engine {

// Of one job; all its clocks. Not thread-safe.
class IncidentTracker {
 public:
  struct RootCauseChange {
    std::string rule;
    Labels labels;
    std::string root_cause;
    bool told;  // an event of this Apply says it
  };

  // `counters` is borrowed.
  IncidentTracker(const EngineOptions& options, EngineCounters* counters);

  // Another rule set: what its rules do not explain any more is explained no longer, from the next
  // Apply on. Null: no rules.
  void SetProgram(const plan::Program* program);

  // The node of each rank of the job; "": not known.
  using NodesOfRanks = std::function<const StringMap<std::string>&()>;

  // What one evaluation (or end of issues) said, in order; `nodes_of` may be null. Gives each issue
  // event its incident, and found and updated ones their root cause. Returns the open issues whose
  // root cause is another now, the alert machines of which must learn it.
  std::vector<RootCauseChange> Apply(std::span<IssueEvent> events,
                                     const NodesOfRanks& nodes_of = nullptr);

  // The job has ended.
  void Clear();

  size_t issues() const { return issues_.size(); }
  size_t open_incidents() const { return incidents_.size(); }
  // Roughly: ids, names and labels are most of it.
  size_t MemoryBytes() const { return issues_.size() * (sizeof(TrackedIssue) + 512); }

  // Bit-exact. Restore replaces everything but the program; damage fails the reader.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  // Null: the bound is reached.
  TrackedIssue* Begin(const IssueEvent& event, const std::string& id, const NodesOfRanks& nodes_of);
  // Notes the time if the value of the issue has risen by half.
  void NoteRise(TrackedIssue* issue, const IssueEvent& event);
  void Join(TrackedIssue* issue);
  void Open(TrackedIssue* issue);
  void End(TrackedIssue* issue, const IssueEvent& event, const NodesOfRanks& nodes_of);
  // Whether the open issues of this one's alert are about all nodes, or all ranks, of the job.
  void FindEverywhere(TrackedIssue* changed, const NodesOfRanks& nodes_of);
  void Forget(const std::string& id);
  void ForgetEndedBefore(int64_t time_ns);
  void FindRootCauses(std::vector<RootCauseChange>* changed);
  // Where the chain of open causes ends; the issue itself when it has none.
  const TrackedIssue* TopOf(const TrackedIssue* issue);

  const int64_t window_ns_;
  const size_t max_issues_;
  EngineCounters* const counters_;
  IssueCauses explanations_;
  std::map<std::string, std::unique_ptr<TrackedIssue>, std::less<>> issues_;  // by id
  std::set<std::pair<int64_t, std::string>> ended_;                           // (ended_at, id)
  std::map<std::string, size_t, std::less<>> incidents_;                      // id -> open issues
  OpenIssues open_;
  int64_t now_ns_ = INT64_MIN;                       // newest time of an event
  bool dirty_ = false;                               // root causes may be others
  uint64_t serial_ = 0;                              // of Apply
  std::vector<std::unique_ptr<TrackedIssue>> gone_;  // forgotten in this Apply
};

}  // namespace pitwall::engine
