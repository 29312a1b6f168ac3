// Lists of a job's issues, incidents, and rule states, derived from its events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/history/job_overview.h"
#include "services/io/issue_source.h"
#include "services/io/rule_verdict.h"
#include "services/model/issues/issue.h"

namespace pitwall::history {

struct Issue {
  std::string id;
  std::vector<IssueEventPtr> events;  // sorted by sequence; never empty
  const IssueEvent& newest() const { return *events.back(); }
  bool open() const { return newest().type != EventType::kIssueResolved; }
  // Returns the time at which the problem started: the onset from the first event that has one or,
  // if no event does, the time at which the issue became pending.
  int64_t onset_ns() const;
  int64_t stall_onset_ns() const;  // StallOnset of the first event that has an onset
  // Returns the threshold of the newest event that has a threshold. The last event has no threshold
  // if the rule had stopped comparing values.
  std::optional<double> threshold() const;
  const std::vector<Evidence>& evidence() const;
};

// Returns the issues sorted by start, newest first, and then by ID. Duplicate events are counted
// once.
std::vector<Issue> IssuesOf(const std::vector<IssueEventPtr>& events);

// Finds the issue by its ID, an ID prefix, or the ID of one of its events. Returns NotFound if no
// issue matches and InvalidArgument if several issues match.
StatusOr<Issue> FindIssue(const std::vector<Issue>& issues, std::string_view id);

struct Incident {
  std::string id;
  std::vector<Issue> issues;  // most likely root cause first
  size_t likely_roots = 0;    // number of leading issues that are equally likely root causes
  bool open = false;
  std::string severity;  // worst among open issues, or among all issues if none are open
  int64_t started_ns = 0;
  int64_t ended_ns = 0;  // 0 while open
};

// Returns the incidents, newest first.
std::vector<Incident> IncidentsOf(const std::vector<Issue>& issues);

struct RuleState {
  std::string rule;
  RuleStatus status = RuleStatus::kUnknown;
  std::string reason;
  RuleVerdict verdict;   // see rule_verdict.h
  int64_t since_ns = 0;  // time of the verdict; 0 if the rule reported no status
  bool ever_found = false;
  uint64_t found = 0;  // number of issues started
  uint64_t open = 0;
  int64_t last_found_ns = 0;
};

// Returns the rule states sorted by rule name. `life` provides the time of the last data from the
// job's ranks.
std::vector<RuleState> RuleStatesOf(const JobOverview& life,
                                    const std::vector<IssueEventPtr>& events);

}  // namespace pitwall::history
