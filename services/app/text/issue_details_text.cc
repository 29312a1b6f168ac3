#include "services/app/text/issue_details_text.h"

#include <string_view>

#include "services/app/text/action_text.h"
#include "services/app/text/capture_text.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

void Row(std::string_view name, std::string_view value, std::string* out) {
  if (value.empty()) return;
  CatTo(*out, name, std::string(name.size() < 14 ? 14 - name.size() : 1, ' '));
  // Continuation lines are aligned with the value column.
  for (const char c : value) {
    *out += c;
    if (c == '\n') out->append(14, ' ');
  }
  *out += '\n';
}

std::string EvidenceText(const Evidence& evidence) {
  return Cat(evidence.name, evidence.labels.empty() ? "" : " ",
             evidence.labels.empty() ? "" : evidence.labels.ToString(), " = ",
             FormatDouble(evidence.value));
}

std::string StateText(const IssueEvent& last) {
  if (last.type != EventType::kIssueResolved)
    return Cat("open since ", TimeText(last.active_since.ns()), ", fired at ",
               TimeText(last.started_at.ns()), ", last seen at ", TimeText(last.last_seen_at.ns()));
  return Cat(EndText(last), " at ", TimeText(last.ended_at.ns()), ", since ",
             TimeText(last.active_since.ns()), ", lasted ",
             LastedText((last.ended_at - last.active_since).ns()));
}

std::string ParametersText(const IssueEvent& event) {
  std::string out;
  for (const auto& [name, value] : event.parameters)
    CatTo(out, out.empty() ? "" : ", ", name, " = ", FormatDouble(value));
  return out;
}

std::string NotificationText(const NotificationRecord& record) {
  return Cat(TimeText(record.time.ns()), "  ", record.kind, " ", record.receiver, ": ", record.what,
             record.issues.size() > 1
                 ? Cat(", with ", record.issues.size() - 1, " more of the incident")
                 : std::string(),
             record.taken ? "" : Cat("; not delivered: ", record.error));
}

}  // namespace

std::string IssuePageText(const IssueView& view, const IssueNames& names) {
  const IssueEvent& last = *view.events.back();
  std::string out;
  Row("issue", IssueId(last), &out);
  Row("name", IssueName(last), &out);
  Row("severity", last.severity, &out);
  Row("state", StateText(last), &out);
  Row("job",
      last.job_name.empty() || last.job_name == last.job ? last.job
                                                         : Cat(last.job_name, " (", last.job, ")"),
      &out);
  Row("attempt", last.attempt == 0 ? "" : Cat(last.attempt), &out);
  Row("rule", last.rule, &out);
  Row("summary", last.summary, &out);
  Row("description", last.description, &out);
  Row("suggestion", last.suggestion, &out);
  // The value and the evidence must come from the same event.
  const IssueEvent* shown = &last;
  for (const IssueEventPtr& event : view.events) {
    if (last.evidence.empty() && !event->evidence.empty()) shown = event.get();
  }
  std::string value = FormatDouble(shown->value);
  if (shown->threshold.has_value())
    CatTo(value, " (threshold ", FormatDouble(*shown->threshold), ")");
  if (shown->step != kNoStep) CatTo(value, " at step ", shown->step);
  Row("value", Cat(value, " at ", TimeText(shown->time.ns())), &out);
  for (size_t i = 0; i < shown->evidence.size(); ++i)
    Row(i == 0 ? "evidence" : "", EvidenceText(shown->evidence[i]), &out);
  Row("parameters", ParametersText(last), &out);
  Row("root cause", last.root_cause.empty() ? "" : names.Name(last.root_cause), &out);
  if (!last.incident.empty()) Row("incident", IncidentLine(view.incident, names), &out);
  if (!view.actions.has_value()) {
    Row("actions", "unknown; `pitwall actions list --data-dir DIR` reads them", &out);
  } else if (view.actions->empty()) {
    Row("actions", "none", &out);
  }
  for (size_t i = 0; view.actions.has_value() && i < view.actions->size(); ++i)
    Row(i == 0 ? "actions" : "", ActionLine((*view.actions)[i]), &out);
  if (!view.notifications.has_value()) {
    Row("notified", "unknown; --data-dir DIR or --brokers HOSTS reads them", &out);
  } else if (view.notifications->empty()) {
    Row("notified", "none", &out);
  }
  for (size_t i = 0; view.notifications.has_value() && i < view.notifications->size(); ++i)
    Row(i == 0 ? "notified" : "", NotificationText((*view.notifications)[i]), &out);
  Row("capture", view.captures.empty() ? "" : CaptureText(view.captures, {}), &out);
  for (size_t i = 0; i < view.events.size(); ++i)
    Row(i == 0 ? "events" : "", IssueLine(*view.events[i], names), &out);
  return out;
}

}  // namespace pitwall
