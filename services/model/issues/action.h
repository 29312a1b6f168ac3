// Decision or action on an issue: a record on pitwall.actions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/time.h"
#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall {

// kDecided: the action will be performed (live mode) or would be performed (dry run). kDone: it was
// performed, and the record contains its effect. kRefused: a check or the target rejected it.
// kRequested: a person requested it, and a record of another type is the reply.
enum class ActionEventType { kDecided, kDone, kRefused, kRequested };
// kInterval has only requests: collectors apply them, and their samples show the result. For
// kParameter, the processor that owns the job replies.
enum class ActionKind { kStop, kInterval, kParameter };
enum class ActionMode { kDryRun, kLive };

std::string_view ActionEventTypeName(ActionEventType type);  // e.g. "io.pitwall.action.decided"
std::string_view ActionKindName(ActionKind kind);            // e.g. "stop"
std::string_view ActionModeName(ActionMode mode);            // e.g. "dry_run"
std::optional<ActionEventType> ParseActionEventType(std::string_view name);
std::optional<ActionKind> ParseActionKind(std::string_view name);
std::optional<ActionMode> ParseActionMode(std::string_view name);

// Rule name under which policies evaluate stop requests from users.
inline constexpr std::string_view kStopRequestRule = "request/stop";
// Rule name of interval requests, which policies do not evaluate.
inline constexpr std::string_view kIntervalRequestRule = "request/interval";
inline constexpr std::string_view kParameterRequestRule = "request/parameter";

// New rule parameter value for one job.
struct ParameterChange {
  std::string rule;  // pack/group/alert, plus #n
  std::string name;
  std::optional<double> value;   // nullopt: reset to the value of the rule files and overrides
  std::optional<double> before;  // nullopt: unknown
  friend bool operator==(const ParameterChange&, const ParameterChange&) = default;
};
// Returns text like "gpu_threshold of pack/group/Alert: 10 -> 20", or "… -> the value of the rule
// files".
std::string ChangeText(const ParameterChange& change);

struct ActionEvent {
  ActionEventType type = ActionEventType::kDecided;
  std::string id;     // 32 hex digits; a function of (issue, kind, mode, type)
  std::string issue;  // IssueId() of the issue; for a request its own ID, 32 random hex digits
  std::string issue_event;  // ID of the event that triggered the action
  std::string job;
  std::string job_name;
  std::string owner;  // owner of the job, from the issue
  uint64_t attempt = 0;
  std::string rule;
  std::string alert;
  std::string severity;
  ActionKind kind = ActionKind::kStop;
  ActionMode mode = ActionMode::kDryRun;
  JobReference target;
  std::string why;                 // reason given by the policy, the checks, or the request
  std::string principal;           // kRequested: the requesting user
  EventTime expires;               // kRequested: wall time of expiry
  Duration interval;               // kInterval: sampling interval of the job's nodes
  ParameterChange parameter;       // kParameter only
  std::vector<Evidence> evidence;  // evidence of the issue
  std::string effect;              // kDone: signal sent, exited, not found, …
  EventTime time;                  // event time of the issue's event
};

std::string MakeActionId(const ActionEvent& event);

// Returns true if the action belongs to the issue: it was decided for the issue, or it changes the
// parameters of the issue's rule for the job.
inline bool BelongsTo(const ActionEvent& action, std::string_view issue, std::string_view job,
                      std::string_view rule) {
  return action.issue == issue || (action.kind == ActionKind::kParameter && action.job == job &&
                                   action.parameter.rule == rule);
}

}  // namespace pitwall
