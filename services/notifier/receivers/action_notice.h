// Notification of an action of the executor: a stop is requested, decided, or refused, and its
// result.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::notifier {

// Which acts a receiver is told of. Live: what was or should have been done to a job, and every
// answer to a person. All: what would have been done, too (dry runs).
enum class ActionsTold { kNone, kLive, kAll };

// Immutable once made.
struct ActionNotice {
  ActionEvent action;
  // Under what the receiver knows the incident; of a request without one the request's own id.
  std::string incident;
  // The subject of its CloudEvent: that of the incident's notices, or of the issue's events.
  std::string subject;
};

bool IsRequest(const ActionEvent& action);
// A live decision or what came of it: told whatever filters and silences say.
bool IsLiveAct(const ActionEvent& action);
bool IsTold(const ActionEvent& action, ActionsTold told);
// "stopped by rule pack/group/Alert" and so on, with why or the effect: one sentence for people.
std::string ActionText(const ActionEvent& action);
// "STOP DECIDED", "STOP DONE", "STOP REFUSED", "STOP REQUESTED", "STOP DRY RUN",
// "INTERVAL REQUESTED".
std::string_view ActionVerb(const ActionEvent& action);
// Stands for the issue of an act where nobody knows it: a request has none.
IssueEvent EventOfAction(const ActionEvent& action);
// A CloudEvent in JSON (docs/notify.md).
std::string EncodeAction(const ActionNotice& notice);

}  // namespace pitwall::notifier
