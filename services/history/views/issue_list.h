// Issues of a job from its events: lists, incidents, rule states.
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
  std::vector<IssueEventPtr> events;  // by sequence; never empty
  const IssueEvent& newest() const { return *events.back(); }
  bool open() const { return newest().type != EventType::kIssueResolved; }
  // Start of the problem: the onset in its first event with one, otherwise the time when it became
  // pending.
  int64_t onset_ns() const;
  int64_t stall_onset_ns() const;  // StallOnset of the first event with one
  // From the newest event with a threshold; the last event has none if nothing was compared any
  // more.
  std::optional<double> threshold() const;
  const std::vector<Evidence>& evidence() const;
};

// Sorted by start, newest first, then by ID. Duplicate events count once.
std::vector<Issue> IssuesOf(const std::vector<IssueEventPtr>& events);

// Finds the issue with this ID or ID prefix, or with an event of this ID. NotFound;
// InvalidArgument: ambiguous.
StatusOr<Issue> FindIssue(const std::vector<Issue>& issues, std::string_view id);

struct Incident {
  std::string id;
  std::vector<Issue> issues;  // likeliest root first
  size_t likely_roots = 0;    // number of leading issues that are equally likely
  bool open = false;
  std::string severity;  // the worst of its open issues; of all if none is open
  int64_t started_ns = 0;
  int64_t ended_ns = 0;  // 0: open
};

// Newest first.
std::vector<Incident> IncidentsOf(const std::vector<Issue>& issues);

struct RuleState {
  std::string rule;
  RuleStatus status = RuleStatus::kUnknown;
  std::string reason;
  RuleVerdict verdict;   // see rule_verdict.h
  int64_t since_ns = 0;  // of the verdict; 0: no status
  bool ever_found = false;
  uint64_t found = 0;  // number of issues that began
  uint64_t open = 0;
  int64_t last_found_ns = 0;
};

// Sorted by rule name. `life` provides the time until which the job's ranks sent data.
std::vector<RuleState> RuleStatesOf(const JobOverview& life,
                                    const std::vector<IssueEventPtr>& events);

}  // namespace pitwall::history
