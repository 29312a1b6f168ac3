#include "services/codec/cloudevents/shared_fields.h"

#include "absl/time/time.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/event_link.h"

namespace pitwall::cloudevents {

std::string FormatTime(int64_t unix_ns) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E9SZ", absl::FromUnixNanos(unix_ns),
                          absl::UTCTimeZone());
}

std::string EventSource(std::string_view job) { return Cat("/pitwall", JobLink(job)); }

void WriteEnvelope(const Envelope& envelope, JsonWriter* out) {
  out->BeginObject();
  out->Text("specversion", "1.0");
  out->Text("id", envelope.id);
  out->Text("source", EventSource(envelope.job));
  out->Text("type", envelope.type);
  out->Text("subject", envelope.subject);
  out->Text("time", FormatTime(envelope.time.ns()));
  out->Text("datacontenttype", "application/json");
  out->Key("data");
}

void ReadEnvelope(const JsonReader& in, std::string* id, std::string* type, EventTime* time) {
  if (const std::string version = in.Required("specversion");
      version != "1.0" && !version.empty()) {
    in.Fail("specversion", Cat("must be \"1.0\" (got ", Quote(version), ")"));
  }
  *id = in.Required("id");
  *type = in.Required("type");
  (void)in.Required("source");
  (void)in.Required("time");
  *time = EventTime::FromNs(in.Time("time"));
  const std::string content = in.String("datacontenttype");
  if (!content.empty() && content != "application/json") {
    in.Fail("datacontenttype", Cat("must be application/json (got ", Quote(content), ")"));
  }
  if (!in.Has("data")) in.Fail("data", "is missing");
}

void WriteTime(std::string_view key, int64_t unix_ns, JsonWriter* out) {
  if (unix_ns != 0) out->Text(key, FormatTime(unix_ns));
}

void WriteLabels(std::string_view key, const Labels& labels, JsonWriter* out) {
  if (labels.empty()) return;
  out->Key(key);
  out->BeginObject();
  for (const Label& label : labels) out->Text(label.name, label.value);
  out->EndObject();
}

void WriteReference(std::string_view key, const JobReference& r, JsonWriter* out) {
  if (r == JobReference()) return;
  out->Key(key);
  out->BeginObject();
  out->Text("platform", r.platform);
  out->Text("cluster", r.cluster);
  out->Text("namespace", r.namespace_name);
  out->Text("kind", r.kind);
  out->Text("name", r.name);
  out->Text("uid", r.uid);
  out->Text("queue", r.queue);
  out->EndObject();
}

JobReference ReadReference(const JsonReader& in) {
  JobReference r;
  r.platform = in.String("platform");
  r.cluster = in.String("cluster");
  r.namespace_name = in.String("namespace");
  r.kind = in.String("kind");
  r.name = in.String("name");
  r.uid = in.String("uid");
  r.queue = in.String("queue");
  return r;
}

void WriteJob(std::string_view id, std::string_view name, std::string_view owner,
              const JobReference& reference, JsonWriter* out) {
  out->Key("job");
  out->BeginObject();
  out->Text("id", id);
  out->Text("name", name);
  out->Text("owner", owner);
  WriteReference("reference", reference, out);
  out->EndObject();
}

void WriteEvidence(const std::vector<Evidence>& evidence, JsonWriter* out) {
  if (evidence.empty()) return;
  out->Key("evidence");
  out->BeginArray();
  for (const Evidence& e : evidence) {
    out->BeginObject();
    out->Text("name", e.name);
    WriteLabels("labels", e.labels, out);
    out->Key("value");
    out->Double(e.value);
    out->EndObject();
  }
  out->EndArray();
}

std::vector<Evidence> ReadEvidence(const JsonReader& data) {
  std::vector<Evidence> evidence;
  data.ForEachObject("evidence", [&](const JsonReader& in) {
    evidence.push_back({in.String("name"), in.LabelSet("labels"), in.Double("value")});
  });
  return evidence;
}

}  // namespace pitwall::cloudevents
