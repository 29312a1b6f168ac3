// Notification of an executor action: a stop that was requested, decided, or refused, and its
// result.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::notifier {

// Acts that a receiver gets. kLive: stops in live mode, whether executed or refused, and every
// reply to a person. kAll: dry runs too.
enum class ActionFilter { kNone, kLive, kAll };

// Immutable after construction.
struct ActionNotice {
  ActionEvent action;
  // ID that the receiver uses for the incident. For a request without an incident, the request's
  // own ID.
  std::string incident;
  // Subject of its CloudEvent, equal to the subject of the incident's notices or the issue's
  // events.
  std::string subject;
};

bool IsRequest(const ActionEvent& action);
// Returns true for a live decision and its result, which are sent regardless of filters and
// silences.
bool IsLiveAct(const ActionEvent& action);
bool IsSelected(const ActionEvent& action, ActionFilter filter);
// Returns one sentence for people, such as "stopped by rule pack/group/Alert", with the reason or
// the effect.
std::string ActionText(const ActionEvent& action);
// Returns "STOP DECIDED", "STOP DONE", "STOP REFUSED", "STOP REQUESTED", "STOP DRY RUN", "INTERVAL
// REQUESTED", and so on.
std::string_view ActionVerb(const ActionEvent& action);
// Returns a placeholder event for an act whose issue is unknown, or for a request.
IssueEvent EventOfAction(const ActionEvent& action);
// Encodes the notice as a CloudEvent in JSON (docs/notify.md).
std::string EncodeAction(const ActionNotice& notice);

}  // namespace pitwall::notifier
