// Issues of a job out of its events: lists, incidents, states of the rules.
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
  // When the trouble began: what its first event with an onset tells, else when it became pending.
  int64_t onset_ns() const;
  int64_t stall_onset_ns() const;  // of the first event with one: StallOnset
  // Of the newest event that tells them: the last one does not where nothing was compared any more.
  std::optional<double> threshold() const;
  const std::vector<Evidence>& evidence() const;
};

// Newest issue first: by start, then id. An event that comes twice counts once.
std::vector<Issue> IssuesOf(const std::vector<IssueEventPtr>& events);

// The issue with this id or beginning of it, or with an event of this id. NotFound;
// InvalidArgument: several begin so.
StatusOr<Issue> FindIssue(const std::vector<Issue>& issues, std::string_view id);

struct Incident {
  std::string id;
  std::vector<Issue> issues;  // the likeliest root first
  size_t likely_roots = 0;    // the first so many are equally likely
  bool open = false;
  std::string severity;  // the worst of its open issues; of all where none is open
  int64_t started_ns = 0;
  int64_t ended_ns = 0;  // 0 while open
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
  uint64_t found = 0;  // issues that began
  uint64_t open = 0;
  int64_t last_found_ns = 0;
};

// By name of the rule. `life` says until when the job's ranks sent data.
std::vector<RuleState> RuleStatesOf(const JobOverview& life,
                                    const std::vector<IssueEventPtr>& events);

}  // namespace pitwall::history
