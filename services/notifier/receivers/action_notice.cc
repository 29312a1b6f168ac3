#include "services/notifier/receivers/action_notice.h"

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::notifier {
namespace {

std::string Origin(const ActionEvent& action) {
  if (!IsRequest(action)) return Cat("by rule ", action.rule);
  return action.principal.empty() ? "on request" : Cat("as requested by ", action.principal);
}

}  // namespace

bool IsRequest(const ActionEvent& action) {
  return action.rule == kStopRequestRule || action.rule == kIntervalRequestRule ||
         action.rule == kParameterRequestRule;
}

bool IsLiveAct(const ActionEvent& action) {
  return action.kind != ActionKind::kParameter && action.mode == ActionMode::kLive &&
         (action.type == ActionEventType::kDecided || action.type == ActionEventType::kDone);
}

bool IsSelected(const ActionEvent& action, ActionFilter filter) {
  if (filter == ActionFilter::kNone) return false;
  return filter == ActionFilter::kAll || action.mode == ActionMode::kLive || IsRequest(action);
}

std::string ActionText(const ActionEvent& action) {
  const std::string_view dry = action.mode == ActionMode::kDryRun ? " (dry run)" : "";
  const std::string why = action.why.empty() ? "" : Cat(": ", action.why);
  if (action.kind == ActionKind::kParameter) {
    const std::string change = Cat("parameter ", ChangeText(action.parameter));
    const std::string by = action.principal.empty() ? "someone" : action.principal;
    if (action.type == ActionEventType::kRequested) return Cat(by, " requests the ", change, why);
    return Cat("the ", change,
               action.type == ActionEventType::kDone ? " is in effect" : " was refused",
               ", as requested by ", by, why);
  }
  switch (action.type) {
    case ActionEventType::kRequested:
      return Cat(action.principal.empty() ? "someone" : action.principal, " requests ",
                 action.kind == ActionKind::kInterval
                     ? Cat("a sampling interval of ", FormatDuration(action.interval.ns()),
                           " on the job's nodes")
                     : "that the job be stopped",
                 why);
    case ActionEventType::kRefused:
      return Cat("the job was not stopped ", Origin(action), dry, why);
    case ActionEventType::kDone:
      return Cat("the job's stop ", Origin(action), " is complete: ", action.effect);
    case ActionEventType::kDecided:
      break;
  }
  if (!dry.empty()) return Cat("the job would be stopped ", Origin(action), dry, why);
  return Cat("the job is stopped ", Origin(action), why);
}

std::string_view ActionVerb(const ActionEvent& action) {
  if (action.kind == ActionKind::kParameter) {
    return action.type == ActionEventType::kRequested ? "PARAMETER REQUESTED"
           : action.type == ActionEventType::kDone    ? "PARAMETER SET"
                                                      : "PARAMETER REFUSED";
  }
  switch (action.type) {
    case ActionEventType::kRequested:
      return action.kind == ActionKind::kInterval ? "INTERVAL REQUESTED" : "STOP REQUESTED";
    case ActionEventType::kRefused:
      return "STOP REFUSED";
    case ActionEventType::kDone:
      return "STOP DONE";
    case ActionEventType::kDecided:
      break;
  }
  return action.mode == ActionMode::kDryRun ? "STOP DRY RUN" : "STOP DECIDED";
}

IssueEvent EventOfAction(const ActionEvent& action) {
  IssueEvent event;
  // A request refers to a job, so the page cannot show an issue for the request.
  event.type = IsRequest(action) ? EventType::kJobChanged : EventType::kIssueFound;
  event.id = action.issue;
  event.sequence = 1;
  event.job = action.job;
  event.job_name = action.job_name;
  event.owner = action.owner;
  event.attempt = action.attempt;
  event.reference = action.target;
  event.rule = action.rule;
  event.alert = !action.alert.empty()                   ? action.alert
                : action.kind == ActionKind::kInterval  ? "IntervalRequested"
                : action.kind == ActionKind::kParameter ? "ParameterRequested"
                                                        : "StopRequested";
  event.severity = action.severity;
  event.labels = Labels({{"alertname", event.alert}});
  event.evidence = action.evidence;
  event.time = event.started_at = event.active_since = action.time;
  return event;
}

std::string EncodeAction(const ActionNotice& notice) {
  return cloudevents::EncodeCloudEvent(notice.action, notice.subject, notice.incident);
}

}  // namespace pitwall::notifier
