// telemetry_dump DATA_DIR|kafka:HOSTS [METRIC]: prints the content of a log, with one JSON object
// per line, for the checker in tests/life.
//
//   {"kind":"batch",…}  a telemetry batch of a rank, with the values of METRIC (train_life_value)
//   {"kind":"event",…}  an event of pitwall.issues, "event" as recorded
//   {"kind":"bad",…}    an unreadable part, with its location
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"

namespace pitwall {
namespace {

// Escapes text for a JSON string. IDs do not contain control characters, because the decoder
// rejects them.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

void PrintBad(std::string_view topic, int32_t partition, std::string_view message) {
  std::printf("{\"kind\":\"bad\",\"topic\":\"%s\",\"p\":%d,\"message\":\"%s\"}\n",
              Escaped(topic).c_str(), partition, Escaped(message).c_str());
}

StatusOr<std::vector<Record>> ReadAll(Log* log, const std::string& topic, int32_t partition) {
  ASSIGN_OR_RETURN(const auto reader, log->OpenReader({topic, partition}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  std::vector<Record> records;
  while (reader->position() < end) {
    const int64_t before = reader->position();
    const size_t had = records.size();
    const Status status = reader->Poll(1000, 8 << 20, Duration::Seconds(1), &records);
    if (status.ok()) continue;
    if (!absl::IsDataLoss(status)) return status;
    PrintBad(topic, partition, ToStd(status.message()));
    if (reader->position() == before && records.size() == had) break;
  }
  return records;
}

class Dump {
 public:
  explicit Dump(std::string metric) : metric_(std::move(metric)) {}

  Status Run(Log* log) {
    ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
    for (int32_t p = 0; p < partitions; ++p) {
      ASSIGN_OR_RETURN(const auto records, ReadAll(log, std::string(kTelemetryTopic), p));
      // Schemas are collected first, because a frame may precede the record that repeats its
      // schema.
      for (const Record& record : records) NoteSchemas(record);
      for (const Record& record : records) PrintBatch(p, record);
    }
    ASSIGN_OR_RETURN(const int32_t issue_partitions, log->Partitions(kIssuesTopic));
    for (int32_t p = 0; p < issue_partitions; ++p) {
      ASSIGN_OR_RETURN(const auto records, ReadAll(log, std::string(kIssuesTopic), p));
      for (const Record& record : records) {
        std::printf("{\"kind\":\"event\",\"p\":%d,\"o\":%lld,\"event\":%s}\n", p,
                    static_cast<long long>(record.offset), record.value.c_str());
      }
    }
    return OkStatus();
  }

 private:
  void NoteSchemas(const Record& record) {
    const auto decoded = decoder_.Decode(record.value);
    if (!decoded.ok() || decoded->batch == nullptr) return;
    for (const Schema& schema : decoded->batch->schemas) {
      std::vector<bool>& wanted = wanted_[schema.id];
      wanted.clear();
      for (const SeriesDescriptor& series : schema.series) {
        wanted.push_back(series.labels.Get("__name__") == metric_);
      }
    }
  }

  void PrintBatch(int32_t partition, const Record& record) {
    const auto decoded = decoder_.Decode(record.value);
    if (!decoded.ok()) {
      PrintBad(kTelemetryTopic, partition, ToStd(decoded.status().message()));
      return;
    }
    const Batch* batch = decoded->batch;
    if (batch == nullptr || batch->info.kind != SourceKind::kRank) return;
    std::string values;
    for (const Frame& frame : batch->frames) {
      const auto schema = wanted_.find(frame.schema_id);
      if (schema == wanted_.end()) {
        PrintBad(kTelemetryTopic, partition, Cat("no schema for a frame of ", batch->source));
        continue;
      }
      const size_t columns = schema->second.size();
      for (size_t i = 0; i < frame.values.size(); ++i) {
        if (!schema->second[i % columns] || std::isnan(frame.values[i])) continue;
        CatTo(values, values.empty() ? "" : ",", static_cast<int64_t>(frame.values[i]));
      }
    }
    std::printf(
        "{\"kind\":\"batch\",\"p\":%d,\"o\":%lld,\"job\":\"%s\",\"source\":\"%s\",\"boot\":\"%s\","
        "\"seq\":%llu,\"rank\":%lld,\"goodbye\":%s,\"values\":[%s]}\n",
        partition, static_cast<long long>(record.offset), Escaped(batch->job).c_str(),
        Escaped(batch->source).c_str(), Escaped(batch->boot_id).c_str(),
        static_cast<unsigned long long>(batch->sequence), static_cast<long long>(batch->info.rank),
        batch->goodbye ? "true" : "false", values.c_str());
  }

  const std::string metric_;
  codec::BatchDecoder decoder_;
  // Schema ID -> one flag per column, true for columns of the metric.
  std::map<uint64_t, std::vector<bool>> wanted_;
};

StatusOr<std::unique_ptr<Log>> Open(const std::string& where, Clock* clock) {
  constexpr std::string_view kKafka = "kafka:";
  if (StartsWith(where, kKafka)) {
    return kafka::OpenKafkaLog(
        {.brokers = where.substr(kKafka.size()), .client_id = "telemetry-dump"}, clock);
  }
  return log::OpenEmbeddedLog({.dir = where + "/log", .read_only = true}, clock);
}

Status Main(const std::string& where, const std::string& metric) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, Open(where, &clock));
  return Dump(metric).Run(log.get());
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: telemetry_dump DATA_DIR|kafka:HOSTS [METRIC]\n");
    return 2;
  }
  const pitwall::Status status = pitwall::Main(argv[1], argc == 3 ? argv[2] : "train_life_value");
  if (!status.ok()) std::fprintf(stderr, "telemetry_dump: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
