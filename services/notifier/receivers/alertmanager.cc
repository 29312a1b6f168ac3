#include "services/notifier/receivers/alertmanager.h"

#include <algorithm>
#include <map>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/event_link.h"
#include "services/codec/cloudevents/shared_fields.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

using codec::JsonWriter;

// Alertmanager accepts the same label names as Prometheus.
std::string LabelName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out.push_back('_');
    out.push_back(letter || digit ? c : '_');
  }
  return out;
}

void WriteLabelsOf(const IssueEvent& event, const AlertmanagerTarget& target, JsonWriter* out) {
  std::map<std::string, std::string> labels;
  for (const auto& [name, value] : target.labels) labels[LabelName(name)] = value;
  for (const Label& label : event.labels) labels[LabelName(label.name)] = label.value;
  labels["alertname"] = event.alert;
  if (!event.severity.empty()) labels["severity"] = event.severity;
  labels["pitwall_job"] = event.job;
  labels["rule"] = event.rule;
  labels["pack"] = event.rule.substr(0, event.rule.find('/'));
  if (!event.job_name.empty()) labels["job_name"] = event.job_name;
  // Stable key that can be used in `group_by`.
  labels["incident"] = event.incident.empty() ? IssueId(event) : event.incident;
  out->Key("labels");
  out->BeginObject();
  for (const auto& [name, value] : labels) out->Text(name, value);
  out->EndObject();
}

void WriteAnnotations(const IssueEvent& event, std::string_view acted, JsonWriter* out) {
  out->Key("annotations");
  out->BeginObject();
  out->Text("summary", event.summary.empty() ? IssueTitle(event) : event.summary);
  out->Text("description", event.description);
  out->Text("suggestion", event.suggestion);
  out->Text("value", FormatDouble(event.value));
  if (event.step != kNoStep) out->Text("step", Cat(event.step));
  if (!event.labels.Has("rank")) {
    for (const Evidence& evidence : event.evidence) {
      if (!evidence.labels.Has("rank")) continue;
      out->Text("rank", evidence.labels.Get("rank"));  // rank of an issue that was folded
      break;
    }
  }
  out->Text("issue", IssueId(event));
  out->Text("root_cause", event.root_cause);
  out->Text("action", acted);
  if (!IsOpen(event) && event.end_reason != EndReason::kCleared) {
    std::string text = Cat("ended: ", EndReasonName(event.end_reason));
    if (event.end_detail != EndDetail::kNone)
      CatTo(text, " (", EndDetailName(event.end_detail), ")");
    out->Text("ended", text);
  }
  out->EndObject();
}

}  // namespace

int64_t AlertEndNs(const IssueEvent& event, int64_t hold_ended_ns, int64_t wall_ns) {
  if (IsOpen(event)) return wall_ns + hold_ended_ns;
  const int64_t end = event.end_reason == EndReason::kCleared ? event.ended_at.ns()
                                                              : event.ended_at.ns() + hold_ended_ns;
  // Alertmanager rejects an alert that ends before it starts.
  return std::max(end, event.active_since.ns() + kNanosPerMilli);
}

void WriteAlert(const IssueEvent& event, const AlertmanagerTarget& target, int64_t wall_ns,
                std::string_view acted, JsonWriter* out) {
  out->BeginObject();
  WriteLabelsOf(event, target, out);
  WriteAnnotations(event, acted, out);
  cloudevents::WriteTime("startsAt", event.active_since.ns(), out);
  cloudevents::WriteTime("endsAt", AlertEndNs(event, target.hold_ended_ns, wall_ns), out);
  if (!target.external_url.empty()) {
    out->Text("generatorURL",
              cloudevents::ExternalLink(target.external_url, cloudevents::EventLink(event)));
  }
  out->EndObject();
}

StatusOr<Call> AlertmanagerReceiver::Render(const Delivery& delivery) const {
  JsonWriter out;
  const auto write = [&](const IssueEvent& event) {
    const std::string acted = delivery.acted ? delivery.acted(IssueId(event)) : "";
    WriteAlert(event, target_, delivery.wall_ns, acted, &out);
  };
  out.BeginArray();
  if (delivery.states != nullptr && !delivery.states->empty()) {
    for (const EventPtr& event : *delivery.states) write(*event);
  } else {
    write(*delivery.event);
  }
  out.EndArray();
  HttpCall call;
  call.url = target_.url;
  while (EndsWith(call.url, "/")) call.url.pop_back();
  call.url += "/api/v2/alerts";
  call.timeout = Duration::Nanos(target_.timeout_ns);
  call.headers = target_.headers;
  call.headers.emplace_back("Content-Type", "application/json");
  call.body = out.Take();
  return call;
}

Verdict AlertmanagerReceiver::Classify(const Answer& answer) const {
  Verdict verdict = ClassifyHttp(answer);
  if (verdict.kind == Verdict::Kind::kRejected)
    CatTo(verdict.error, " ", CutAtWord(OneLineText(answer.text), 200));
  return verdict;
}

}  // namespace pitwall::notifier
