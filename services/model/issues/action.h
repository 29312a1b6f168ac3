// Decision or action on an issue: the records of pitwall.actions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall {

// kDecided: the action will be taken (live), or would have been (dry run). kDone: it was taken; the
// record has its effect. kRefused: a check or the target refused it. kRequested: a person requests
// it; one of the other types is the reply.
enum class ActionEventType { kDecided, kDone, kRefused, kRequested };
// kInterval has requests only: collectors apply it, and their samples show the result. kParameter:
// the processor that owns the job replies.
enum class ActionKind { kStop, kInterval, kParameter };
enum class ActionMode { kDryRun, kLive };

std::string_view ActionEventTypeName(ActionEventType type);  // io.pitwall.action.decided, …
std::string_view ActionKindName(ActionKind kind);            // stop, interval
std::string_view ActionModeName(ActionMode mode);            // dry_run, live
std::optional<ActionEventType> ParseActionEventType(std::string_view name);
std::optional<ActionKind> ParseActionKind(std::string_view name);
std::optional<ActionMode> ParseActionMode(std::string_view name);

// Rule name under which policies evaluate stop requests of people.
inline constexpr std::string_view kStopRequestRule = "request/stop";
inline constexpr std::string_view kIntervalRequestRule =
    "request/interval";  // not evaluated by policies
inline constexpr std::string_view kParameterRequestRule = "request/parameter";

// New value of a rule's parameter for one job.
struct ParameterChange {
  std::string rule;  // pack/group/alert, plus #n
  std::string name;
  std::optional<double> value;   // nothing: the value of the rule files and overrides
  std::optional<double> before;  // nothing: not known yet
  friend bool operator==(const ParameterChange&, const ParameterChange&) = default;
};
// Returns "gpu_threshold of pack/group/Alert: 10 -> 20", or "… -> the value of the rule files".
std::string ChangeText(const ParameterChange& change);

struct ActionEvent {
  ActionEventType type = ActionEventType::kDecided;
  std::string id;     // 32 hex digits; a function of (issue, kind, mode, type)
  std::string issue;  // IssueId() of the issue; for a request its own ID, 32 random hex digits
  std::string issue_event;  // ID of the event that was acted on
  std::string job;
  std::string job_name;
  std::string owner;  // of the job, as of the issue
  uint64_t attempt = 0;
  std::string rule;
  std::string alert;
  std::string severity;
  ActionKind kind = ActionKind::kStop;
  ActionMode mode = ActionMode::kDryRun;
  JobReference target;
  std::string why;                 // the policy and the checks, or a request's reason
  std::string principal;           // kRequested: the requesting person
  int64_t expires_ns = 0;          // kRequested: wall time of expiry
  int64_t interval_ns = 0;         // kInterval: between two samples of the job's nodes
  ParameterChange parameter;       // kParameter
  std::vector<Evidence> evidence;  // of the issue
  std::string effect;              // kDone: signal sent, exited, not found, …
  int64_t time_ns = 0;             // event time of the issue's event
};

std::string MakeActionId(const ActionEvent& event);

// Returns true if the action belongs to an issue of the job's rule: it was decided on the issue, or
// it changes the rule's parameters for the job.
inline bool BelongsTo(const ActionEvent& action, std::string_view issue, std::string_view job,
                      std::string_view rule) {
  return action.issue == issue || (action.kind == ActionKind::kParameter && action.job == job &&
                                   action.parameter.rule == rule);
}

}  // namespace pitwall
