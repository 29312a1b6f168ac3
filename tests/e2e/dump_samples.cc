// dump_samples DATA_DIR METRIC [LABELS]: prints the samples of a metric from an embedded log, for
// tests. A duplicate batch counts once, as in the processor. Each line is "source boot sequence
// time value append-time". If LABELS (comma-separated names) is set, each line starts with their
// values, joined by commas.
#include <cstdio>
#include <set>
#include <unordered_map>

#include "services/base/text/strings.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"
#include "services/model/value.h"
#include "tests/e2e/topic_records.h"

namespace pitwall {
namespace {

// Returns the values of the labels followed by a space, or "" if `names` is empty.
std::string Chosen(const Labels& labels, const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) values.emplace_back(labels.Get(name));
  return values.empty() ? "" : Cat(Join(values, ","), " ");
}

Status Dump(const std::string& dir, const std::string& metric,
            const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const std::vector<Record> records, RecordsOf(dir, std::string(kTelemetryTopic)));
  std::set<std::string> seen;
  std::unordered_map<uint64_t, Schema> schemas;
  codec::BatchDecoder decoder;
  for (const Record& record : records) {
    const auto decoded = decoder.Decode(record.value);
    if (!decoded.ok() || decoded->batch == nullptr) continue;
    const Batch& batch = *decoded->batch;
    const std::string id = Cat(batch.source, " ", batch.boot_id, " ", batch.sequence);
    if (!seen.insert(Cat(batch.job, " ", id)).second) continue;
    for (const Schema& schema : batch.schemas) schemas[schema.id] = schema;
    for (const Frame& frame : batch.frames) {
      const auto schema = schemas.find(frame.schema_id);
      if (schema == schemas.end()) return DataLoss(Cat("a frame without its schema in ", id));
      const size_t width = schema->second.series.size();
      for (size_t i = 0; i < frame.values.size(); ++i) {
        const Labels& labels = schema->second.series[i % width].labels;
        if (IsMissing(frame.values[i]) || labels.Name() != metric) continue;
        std::printf("%s%s %lld %.17g %lld\n", Chosen(labels, names).c_str(), id.c_str(),
                    static_cast<long long>(frame.times[i / width]), frame.values[i],
                    static_cast<long long>(record.append_time.ns()));
      }
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  std::vector<std::string> names;
  if (argc == 4) {
    for (const std::string_view name : pitwall::Split(argv[3], ',')) names.emplace_back(name);
  }
  const pitwall::Status status = pitwall::Dump(argv[1], argv[2], names);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
