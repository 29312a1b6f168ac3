// Notification of an action of the executor: a stop is requested, decided, or refused, and its
// result.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::notifier {

// Acts that a receiver gets. kLive: stops that were or should have been done, and every reply to a
// person. kAll: also dry runs.
enum class ActionFilter { kNone, kLive, kAll };

// Immutable once made.
struct ActionNotice {
  ActionEvent action;
  // ID under which the receiver knows the incident; for a request without one, the request's own
  // ID.
  std::string incident;
  // Subject of its CloudEvent: that of the incident's notices, or of the issue's events.
  std::string subject;
};

bool IsRequest(const ActionEvent& action);
// Returns true for a live decision and its result, which are sent regardless of filters and
// silences.
bool IsLiveAct(const ActionEvent& action);
bool IsSelected(const ActionEvent& action, ActionFilter filter);
// Returns one sentence for people, such as "stopped by rule pack/group/Alert" with the reason or
// the effect.
std::string ActionText(const ActionEvent& action);
// Returns "STOP DECIDED", "STOP DONE", "STOP REFUSED", "STOP REQUESTED", "STOP DRY RUN", "INTERVAL
// REQUESTED", and so on.
std::string_view ActionVerb(const ActionEvent& action);
// Returns an event in place of the issue of an act if the issue is unknown or the act is a request.
IssueEvent EventOfAction(const ActionEvent& action);
// Returns a CloudEvent in JSON (docs/notify.md).
std::string EncodeAction(const ActionNotice& notice);

}  // namespace pitwall::notifier
