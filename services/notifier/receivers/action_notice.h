// Notification about an executor action: a stop that was requested, decided, or refused, and the
// result of the stop.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::notifier {

// Executor actions that a receiver gets. kLive: stops in live mode, whether executed or refused,
// and all replies to user requests. kAll: also dry runs.
enum class ActionFilter { kNone, kLive, kAll };

// Immutable after construction.
struct ActionNotice {
  ActionEvent action;
  // ID that the receiver uses for the incident. A request without an incident uses its own ID.
  std::string incident;
  // Subject of the CloudEvent. Equal to the subject of the incident's notices or of the issue's
  // events.
  std::string subject;
};

bool IsRequest(const ActionEvent& action);
// Returns true for a live decision and its result. Both are sent regardless of filters and
// silences.
bool IsLiveAct(const ActionEvent& action);
bool IsSelected(const ActionEvent& action, ActionFilter filter);
// Returns one human-readable sentence with the reason or the effect, such as "stopped by rule
// pack/group/Alert".
std::string ActionText(const ActionEvent& action);
// Returns "STOP DECIDED", "STOP DONE", "STOP REFUSED", "STOP REQUESTED", "STOP DRY RUN", "INTERVAL
// REQUESTED", and so on.
std::string_view ActionVerb(const ActionEvent& action);
// Returns a placeholder event for a request, or for an action on an unknown issue.
IssueEvent EventOfAction(const ActionEvent& action);
// Encodes the notice as a CloudEvent in JSON (docs/notify.md).
std::string EncodeAction(const ActionNotice& notice);

}  // namespace pitwall::notifier
