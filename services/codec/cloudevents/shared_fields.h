// Fields shared by issue events and action events.
#pragma once

#include <string_view>
#include <vector>

#include "services/base/time.h"
#include "services/codec/json/json_reader.h"
#include "services/codec/json/json_writer.h"
#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall::cloudevents {

using codec::JsonReader;
using codec::JsonWriter;

// Writes the envelope attributes and the key "data". The caller writes the data object and ends the
// outer object.
struct Envelope {
  std::string_view id, type, job, subject;
  EventTime time;
};
void WriteEnvelope(const Envelope& envelope, JsonWriter* out);
// Validates specversion, id, type, source, and datacontenttype. Sets *id, *type, and *time.
void ReadEnvelope(const JsonReader& in, std::string* id, std::string* type, EventTime* time);

void WriteTime(std::string_view key, int64_t unix_ns, JsonWriter* out);  // omitted if 0
void WriteLabels(std::string_view key, const Labels& labels, JsonWriter* out);
void WriteJob(std::string_view id, std::string_view name, std::string_view owner,
              const JobReference& reference, JsonWriter* out);
void WriteReference(std::string_view key, const JobReference& reference, JsonWriter* out);
JobReference ReadReference(const JsonReader& in);
void WriteEvidence(const std::vector<Evidence>& evidence, JsonWriter* out);
std::vector<Evidence> ReadEvidence(const JsonReader& data);

}  // namespace pitwall::cloudevents
