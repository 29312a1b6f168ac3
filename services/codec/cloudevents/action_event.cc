#include <cmath>
#include <optional>
#include <utility>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/shared_fields.h"

namespace pitwall::cloudevents {
namespace {

void WriteParameter(const ParameterChange& change, JsonWriter* out) {
  out->Key("parameter");
  out->BeginObject();
  out->Text("rule", change.rule);
  out->Text("name", change.name);
  out->Key("value");
  change.value.has_value() ? out->Double(*change.value) : out->Null();
  if (change.before.has_value()) {
    out->Key("before");
    out->Double(*change.before);
  }
  out->EndObject();
}

ParameterChange ReadParameter(const JsonReader& in) {
  ParameterChange change;
  change.rule = in.Required("rule");
  change.name = in.Required("name");
  for (const auto& [key, into] :
       {std::pair("value", &change.value), std::pair("before", &change.before)}) {
    if (!in.Has(key)) continue;
    *into = in.Double(key);
    if (!std::isfinite(**into)) in.Fail(key, "must be finite");
  }
  return change;
}

}  // namespace

std::string EncodeCloudEvent(const ActionEvent& e) { return EncodeCloudEvent(e, e.rule, ""); }

std::string EncodeCloudEvent(const ActionEvent& e, std::string_view subject,
                             std::string_view incident) {
  JsonWriter out;
  WriteEnvelope({e.id, ActionEventTypeName(e.type), e.job, subject, e.time}, &out);
  out.BeginObject();
  WriteJob(e.job, e.job_name, e.owner, JobReference(), &out);
  out.Key("attempt");
  out.Uint(e.attempt);
  out.Text("issue", e.issue);
  out.Text("incident", incident);
  out.Text("issue_event", e.issue_event);
  out.Text("rule", e.rule);
  out.Text("alert", e.alert);
  out.Text("severity", e.severity);
  out.Text("action", ActionKindName(e.kind));
  out.Text("mode", ActionModeName(e.mode));
  WriteReference("target", e.target, &out);
  out.Text("why", e.why);
  WriteEvidence(e.evidence, &out);
  out.Text("effect", e.effect);
  out.Text("principal", e.principal);
  if (e.type == ActionEventType::kRequested) WriteTime("expires", e.expires.ns(), &out);
  if (e.interval > Duration::Zero()) out.Text("interval", FormatDuration(e.interval.ns()));
  if (e.kind == ActionKind::kParameter) WriteParameter(e.parameter, &out);
  out.EndObject();
  out.EndObject();
  return out.Take();
}

StatusOr<ActionEvent> DecodeActionEvent(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, kMaxEventBytes));
  ActionEvent e;
  std::string type;
  ReadEnvelope(in, &e.id, &type, &e.time);
  const std::optional<ActionEventType> known = ParseActionEventType(type);
  if (!known) in.Fail("type", Cat("unknown type: ", Quote(type)));
  e.type = known.value_or(ActionEventType::kDecided);

  const JsonReader data = in.Object("data");
  const JsonReader job = data.Object("job");
  e.job = job.Required("id");
  e.job_name = job.String("name");
  e.owner = job.String("owner");
  e.attempt = data.Uint("attempt");
  e.issue = data.Required("issue");
  e.issue_event = data.String("issue_event");
  e.rule = data.Required("rule");
  e.alert = data.String("alert");
  e.severity = data.String("severity");
  const std::string kind_name = data.Required("action");
  const std::optional<ActionKind> kind = ParseActionKind(kind_name);
  if (!kind) data.Fail("action", Cat("unknown action: ", Quote(kind_name)));
  e.kind = kind.value_or(ActionKind::kStop);
  const std::string mode_name = data.Required("mode");
  const std::optional<ActionMode> mode = ParseActionMode(mode_name);
  if (!mode) data.Fail("mode", Cat("unknown mode: ", Quote(mode_name)));
  e.mode = mode.value_or(ActionMode::kDryRun);
  e.target = ReadReference(data.Object("target"));
  e.why = data.String("why");
  e.evidence = ReadEvidence(data);
  e.effect = data.String("effect");
  e.principal = data.String("principal");
  if (e.type == ActionEventType::kRequested) e.expires = EventTime::FromNs(data.Time("expires"));
  if (data.Has("interval")) {
    const StatusOr<int64_t> interval = ParseDuration(data.String("interval"));
    if (!interval.ok()) data.Fail("interval", std::string(ToStd(interval.status().message())));
    e.interval = Duration::Nanos(interval.value_or(0));
  }
  if (e.kind == ActionKind::kParameter) e.parameter = ReadParameter(data.Object("parameter"));
  RETURN_IF_ERROR(in.status());
  return e;
}

}  // namespace pitwall::cloudevents
