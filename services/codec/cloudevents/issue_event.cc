#include <optional>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/shared_fields.h"

namespace pitwall::cloudevents {

namespace {

void WriteLostRank(const LostRank& lost, JsonWriter* out) {
  out->Key("lost_rank");
  out->BeginObject();
  if (lost.rank >= 0) {
    out->Key("rank");
    out->Uint(static_cast<uint64_t>(lost.rank));
  }
  out->Text("node", lost.node);
  if (lost.signal.has_value()) {
    out->Key("signal");
    out->Uint(static_cast<uint64_t>(*lost.signal));
  }
  if (lost.exit_code.has_value()) {
    out->Key("exit_code");
    out->Uint(static_cast<uint64_t>(*lost.exit_code));
  }
  if (lost.oom_killed) {
    out->Key("oom_killed");
    out->Bool(true);
  }
  out->EndObject();
}

LostRank ReadLostRank(const JsonReader& in) {
  LostRank lost;
  // Exit codes and signals fit into one byte, and ranks into 32 bits.
  const auto bounded = [&](std::string_view key, uint64_t most) {
    const uint64_t value = in.Uint(key);
    if (value > most) in.Fail(key, "out of range");
    return value > most ? 0 : value;
  };
  if (in.Has("rank")) lost.rank = static_cast<int64_t>(bounded("rank", UINT32_MAX));
  lost.node = in.String("node");
  if (in.Has("signal")) lost.signal = static_cast<int32_t>(bounded("signal", 255));
  if (in.Has("exit_code")) lost.exit_code = static_cast<int32_t>(bounded("exit_code", 255));
  lost.oom_killed = in.Bool("oom_killed");
  return lost;
}

}  // namespace

std::string EncodeCloudEvent(const IssueEvent& e) {
  const bool status_event = e.type == EventType::kRuleStatus;
  const bool job_event = e.type == EventType::kJobChanged;
  JsonWriter out;
  WriteEnvelope({e.id, EventTypeName(e.type), e.job, e.rule, e.time}, &out);
  out.BeginObject();
  WriteJob(e.job, e.job_name, e.owner, e.reference, &out);
  out.Key("attempt");
  out.Uint(e.attempt);
  if (!status_event && !job_event) out.Text("issue", IssueId(e));
  out.Text("rule", e.rule);
  out.Text("alert", e.alert);
  WriteLabels("labels", e.labels, &out);
  out.Text("severity", e.severity);
  WriteTime("active_since", e.active_since.ns(), &out);
  WriteTime("onset_at", e.onset.ns(), &out);
  WriteTime("started_at", e.started_at.ns(), &out);
  WriteTime("last_seen_at", e.last_seen_at.ns(), &out);
  WriteTime("ended_at", e.ended_at.ns(), &out);
  out.Text("end_reason", EndReasonName(e.end_reason));
  out.Key("sequence");
  out.Uint(e.sequence);
  if ((!status_event && !job_event) || e.value != 0) {
    out.Key("value");
    out.Double(e.value);
  }
  if (!e.parameters.empty()) {
    out.Key("parameters");
    out.BeginObject();
    for (const auto& [name, value] : e.parameters) {
      out.Key(name);
      out.Double(value);
    }
    out.EndObject();
  }
  if (e.threshold) {
    out.Key("threshold");
    out.Double(*e.threshold);
  }
  if (e.step >= 0) {
    out.Key("step");
    out.Uint(static_cast<uint64_t>(e.step));
  }
  WriteEvidence(e.evidence, &out);
  out.Text("summary", e.summary);
  out.Text("description", e.description);
  out.Text("suggestion", e.suggestion);
  out.Text("capture", e.capture);
  out.Text("incident", e.incident);
  out.Text("root_cause", e.root_cause);
  if (status_event || e.status != RuleStatus::kUnknown) {
    out.Text("status", RuleStatusName(e.status));
  }
  if (e.previous_status != RuleStatus::kUnknown) {
    out.Text("previous_status", RuleStatusName(e.previous_status));
  }
  out.Text("status_reason", e.status_reason);
  if (status_event || e.ever_found) {
    out.Key("ever_found");
    out.Bool(e.ever_found);
  }
  out.Text("end_detail", EndDetailName(e.end_detail));
  out.Text("job_change", JobChangeName(e.job_change));
  if (e.lost_rank) WriteLostRank(*e.lost_rank, &out);
  out.EndObject();
  out.EndObject();
  return out.Take();
}

StatusOr<IssueEvent> DecodeCloudEvent(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, kMaxEventBytes));
  IssueEvent e;
  std::string type;
  ReadEnvelope(in, &e.id, &type, &e.time);
  const std::optional<EventType> known = ParseEventType(type);
  if (!known) in.Fail("type", Cat("unknown type: ", Quote(type)));
  e.type = known.value_or(EventType::kIssueFound);

  const JsonReader data = in.Object("data");
  const JsonReader job = data.Object("job");
  e.job = job.Required("id");
  e.job_name = job.String("name");
  e.owner = job.String("owner");
  e.reference = ReadReference(job.Object("reference"));
  e.attempt = data.Uint("attempt");
  e.rule = e.type == EventType::kJobChanged ? data.String("rule") : data.Required("rule");
  e.alert = data.String("alert");
  e.labels = data.LabelSet("labels");
  e.severity = data.String("severity");
  e.active_since = EventTime::FromNs(data.Time("active_since"));
  e.onset = EventTime::FromNs(data.Time("onset_at"));
  e.started_at = EventTime::FromNs(data.Time("started_at"));
  e.last_seen_at = EventTime::FromNs(data.Time("last_seen_at"));
  e.ended_at = EventTime::FromNs(data.Time("ended_at"));
  const std::string reason = data.String("end_reason");
  const std::optional<EndReason> end_reason = ParseEndReason(reason);
  if (!end_reason) data.Fail("end_reason", Cat("unknown reason: ", Quote(reason)));
  e.end_reason = end_reason.value_or(EndReason::kNone);
  e.sequence = data.Uint("sequence");
  e.value = data.Double("value");
  e.parameters = data.Doubles("parameters");
  if (data.Has("threshold")) e.threshold = data.Double("threshold");
  if (data.Has("step")) {
    const uint64_t step = data.Uint("step");
    if (step > static_cast<uint64_t>(INT64_MAX)) data.Fail("step", "out of range");
    e.step = static_cast<int64_t>(step);
  }
  e.evidence = ReadEvidence(data);
  e.summary = data.String("summary");
  e.description = data.String("description");
  e.suggestion = data.String("suggestion");
  e.capture = data.String("capture");
  e.incident = data.String("incident");
  e.root_cause = data.String("root_cause");
  const auto status = [&](std::string_view key) {
    const std::string name = data.String(key);
    if (name.empty()) return RuleStatus::kUnknown;
    const std::optional<RuleStatus> value = ParseRuleStatus(name);
    if (!value) data.Fail(key, Cat("unknown: ", Quote(name)));
    return value.value_or(RuleStatus::kUnknown);
  };
  e.status = status("status");
  e.previous_status = status("previous_status");
  e.status_reason = data.String("status_reason");
  e.ever_found = data.Bool("ever_found");
  const std::string detail = data.String("end_detail");
  const std::optional<EndDetail> end_detail = ParseEndDetail(detail);
  if (!end_detail) data.Fail("end_detail", Cat("unknown detail: ", Quote(detail)));
  e.end_detail = end_detail.value_or(EndDetail::kNone);
  const std::string change = data.String("job_change");
  const std::optional<JobChange> job_change = ParseJobChange(change);
  if (!job_change || (e.type == EventType::kJobChanged && *job_change == JobChange::kNone))
    data.Fail("job_change", Cat("unknown change: ", Quote(change)));
  e.job_change = job_change.value_or(JobChange::kNone);
  if (data.Has("lost_rank")) e.lost_rank = ReadLostRank(data.Object("lost_rank"));
  RETURN_IF_ERROR(in.status());
  return e;
}

}  // namespace pitwall::cloudevents
