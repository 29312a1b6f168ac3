// Event on pitwall.issues, in webhooks, and in gRPC (architecture.md, section 5). It contains no
// wall time: every field is a function of the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/time.h"
#include "services/model/job.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall {

enum class EventType { kIssueFound, kIssueUpdated, kIssueResolved, kRuleStatus, kJobChanged };
enum class EndReason { kNone, kCleared, kNoData, kAttemptEnded, kJobEnded, kRuleRemoved };
// End of a rank, attempt, or job (time-model.md, section 4). kNone: unknown or still running.
enum class EndDetail { kNone, kCompleted, kFailed, kDied, kCancelled, kStopped, kSilent };
enum class JobChange { kNone, kStarted, kAttemptBegan, kRankLost, kAttemptEnded, kEnded };
enum class RuleStatus {
  kUnknown,
  kNoData,
  kInProgress,
  kNoIssuesFound,
  kIssuesFound,
  kError,
  kStopped
};

std::string_view EventTypeName(EventType type);      // e.g. "io.pitwall.issue.found"
std::string_view EndReasonName(EndReason reason);    // e.g. "cleared"; "" for kNone
std::string_view EndDetailName(EndDetail detail);    // e.g. "completed"; "" for kNone
std::string_view JobChangeName(JobChange change);    // e.g. "started"; "" for kNone
std::string_view RuleStatusName(RuleStatus status);  // e.g. "InProgress"
std::optional<EventType> ParseEventType(std::string_view name);
std::optional<EndReason> ParseEndReason(std::string_view name);
std::optional<EndDetail> ParseEndDetail(std::string_view name);
std::optional<JobChange> ParseJobChange(std::string_view name);
std::optional<RuleStatus> ParseRuleStatus(std::string_view name);

// Rank whose process ended without a goodbye.
struct LostRank {
  int64_t rank = -1;
  std::string node;
  std::optional<int32_t> signal;     // signal that terminated the process; nullopt: unknown
  std::optional<int32_t> exit_code;  // nullopt: unknown
  bool oom_killed = false;
  friend bool operator==(const LostRank&, const LostRank&) = default;
};

// Input value of a rule when it fired.
struct Evidence {
  std::string name;  // expression text of the operand, or the metric
  Labels labels;
  double value = 0;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

// On the step clock, the times are the event times of the steps, and separate fields contain the
// steps.
struct IssueEvent {
  EventType type = EventType::kIssueFound;
  std::string
      id;  // 32 hex digits; a function of (job, attempt, rule, labels, active_since, sequence)
  std::string job;
  std::string job_name;
  std::string owner;  // owner of the job: "uid:1000", "pod:<uid>"; "": unknown
  JobReference reference;
  uint64_t attempt = 0;  // attempt in which the issue started
  std::string rule;      // pack/group/alert, plus #n for repeats
  std::string alert;
  Labels labels;         // after rule labels, with alertname
  std::string severity;  // value of the label severity
  EventTime time;        // event time of the tick
  EventTime active_since;
  EventTime onset;  // onset of the problem according to the rule's annotation; 0: unknown
  EventTime started_at;
  EventTime last_seen_at;
  EventTime ended_at;  // 0 while the issue is open
  EndReason end_reason = EndReason::kNone;
  uint64_t sequence = 0;  // 1 for found, incremented with each event of the issue
  double value = 0;
  std::vector<std::pair<std::string, double>> parameters;  // values used in the evaluation
  std::optional<double> threshold;  // threshold of the outermost comparison, if it is a scalar
  int64_t step = kNoStep;
  std::vector<Evidence> evidence;
  std::string summary, description, suggestion;
  std::string capture;     // kIssueFound only: capture requested by the rule ("stacks"), or ""
  std::string incident;    // ID of the incident's first issue; never changes
  std::string root_cause;  // ID of the issue that explains this one; may change
  // For kRuleStatus only.
  RuleStatus status = RuleStatus::kUnknown;
  RuleStatus previous_status = RuleStatus::kUnknown;
  std::string status_reason;  // missing series, error, or the condition that the rule waits for
  bool ever_found = false;
  // Details of the end. Set for kJobChanged and for issues with end_reason attempt_ended or
  // job_ended.
  EndDetail end_detail = EndDetail::kNone;
  // For kJobChanged only; `rule` is empty in that case.
  JobChange job_change = JobChange::kNone;
  std::optional<LostRank> lost_rank;  // kRankLost only
};

// Returns the event ID, which is a hash of some of the fields in `event`.
std::string MakeEventId(const IssueEvent& event);
// Returns the issue ID, which is the same for all events of the issue.
std::string IssueId(const IssueEvent& event);
// Returns true if `wanted` matches the rule: pack/group/alert or a suffix of it (alert,
// group/alert), with or without the #n for repeats. "" matches every rule.
bool RuleMatches(std::string_view wanted, std::string_view rule);
// Returns the key of an issue within its job, derived from rule and labels.
std::string IssueKey(const IssueEvent& event);

}  // namespace pitwall
