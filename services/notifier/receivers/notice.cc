#include "services/notifier/receivers/notice.h"

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/shared_fields.h"

namespace pitwall::notifier {
namespace {

using codec::JsonWriter;

void WriteIssue(std::string_view id, const IssueEvent& e, JsonWriter* out) {
  out->BeginObject();
  out->Text("id", id);
  out->Text("rule", e.rule);
  out->Text("alert", e.alert);
  cloudevents::WriteLabels("labels", e.labels, out);
  out->Text("severity", e.severity);
  out->Text("state", IsOpen(e) ? "open" : "ended");
  cloudevents::WriteTime("active_since", e.active_since.ns(), out);
  cloudevents::WriteTime("ended_at", e.ended_at.ns(), out);
  out->Text("end_reason", EndReasonName(e.end_reason));
  out->Text("end_detail", EndDetailName(e.end_detail));
  out->Text("root_cause", e.root_cause);
  out->Text("summary", e.summary);
  out->EndObject();
}

}  // namespace

bool IsOpen(const IssueEvent& event) { return event.type != EventType::kIssueResolved; }

std::string IssueTitle(const IssueEvent& event) {
  std::vector<Label> labels;
  for (const Label& label : event.labels) {
    if (label.name != "alertname" && label.name != "severity") labels.push_back(label);
  }
  if (labels.empty()) return event.alert;
  return Cat(event.alert, Labels::FromPairs(std::move(labels)).ToString());
}

std::string_view NoticeType(EventType kind) {
  return kind == EventType::kIssueFound     ? "io.pitwall.incident.found"
         : kind == EventType::kIssueUpdated ? "io.pitwall.incident.updated"
                                            : "io.pitwall.incident.ended";
}

std::string EncodeNotice(const Notice& notice) {
  const IssueEvent& root = notice.root();
  JsonWriter out;
  cloudevents::WriteEnvelope({.id = notice.id,
                              .type = NoticeType(notice.kind),
                              .job = root.job,
                              .subject = notice.incident,
                              .time = EventTime::FromNs(notice.time_ns)},
                             &out);
  out.BeginObject();
  out.Text("incident", notice.incident);
  out.Text("state", notice.open() ? "open" : "ended");
  out.Text("severity", notice.severity);
  cloudevents::WriteJob(root.job, root.job_name, root.owner, root.reference, &out);
  cloudevents::WriteTime("began_at", notice.began_ns, &out);
  if (!notice.open()) cloudevents::WriteTime("ended_at", notice.time_ns, &out);
  if (!notice.node.empty()) {
    out.Text("node", notice.node);
    out.Key("jobs");
    out.BeginArray();
    for (const std::string& job : notice.jobs) out.String(job);
    out.EndArray();
  }
  out.Text("summary", notice.summary);
  if (notice.other_root) out.Text("changed", "root_cause");
  out.Key("issue_count");
  out.Uint(notice.issue_count);
  out.Key("open_count");
  out.Uint(notice.open_count);
  out.Text("root_cause", notice.issues.front().id);
  out.Key("issues");
  out.BeginArray();
  for (const NoticeIssue& issue : notice.issues) WriteIssue(issue.id, *issue.event, &out);
  out.EndArray();
  out.Key("issue_ids");
  out.BeginArray();
  for (const std::string& id : notice.issue_ids) out.String(id);
  out.EndArray();
  out.EndObject();
  out.EndObject();
  return out.Take();
}

}  // namespace pitwall::notifier
