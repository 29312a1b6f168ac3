// write_telemetry DATA_DIR: writes an embedded log with the telemetry that a test describes on
// stdin (the inverse of e2e_dump_samples). The words of a line are separated by tabs:
//
// clang-format off
//   source  JOB NAME node|rank RANK NODE   starts a new source; RANK -1: no rank
//   series  METRIC LABEL=VALUE …           adds a series to the newest source (before any batch)
//   batch   SOURCE LAST_NS MODE            starts a batch of the source with this number (from 0)
//   tick    TIME_NS STEP VALUE …           adds a tick with a value per series; "_": missing
//   beat    SOURCE TIME_NS                 batch without samples: the source is alive
//   boot    SOURCE BOOT_ID                 new process of the source, from its next batch on
//   clock   TIME_NS                        clock tick, as a processor writes every second
//   goodbye SOURCE TIME_NS                 batch that ends the source
// clang-format on
//
// Records are appended in the order of the lines, and a batch at the time of its last tick.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"
#include "services/model/value.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall {
namespace {

struct Source {
  Batch batch;  // fields shared by all of its batches
  Schema schema;
};

struct Ticks {
  std::vector<int64_t> times, steps;
  std::vector<double> values;
};

class Writer {
 public:
  explicit Writer(std::string dir) : dir_(std::move(dir)) {}

  Status Run() {
    options_.dir = dir_ + "/log";
    ASSIGN_OR_RETURN(log_, log::OpenEmbeddedLog(options_, &clock_));
    RETURN_IF_ERROR(log_->EnsureTopic(kTelemetryTopic, {.partitions = 1}));
    ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
    std::string line;
    for (int number = 1; std::getline(std::cin, line); ++number) {
      const std::vector<std::string_view> words = Split(line, '\t');
      RETURN_IF_ERROR(Annotate(Take(words), Cat("line ", number)));
    }
    return Send();
  }

 private:
  Status Take(const std::vector<std::string_view>& words) {
    if (words[0] == "tick" && words.size() >= 3) return TakeTick(words);
    RETURN_IF_ERROR(Send());
    if (words[0] == "source" && words.size() == 6) {
      Source& source = sources_.emplace_back();
      source.batch.job = words[1];
      source.batch.source = words[2];
      source.batch.boot_id = "boot";
      source.batch.info.kind = words[3] == "rank" ? SourceKind::kRank : SourceKind::kNode;
      source.batch.info.rank = std::stoll(std::string(words[4]));
      source.batch.info.node = words[5];
      return OkStatus();
    }
    if (words[0] == "series" && words.size() >= 2 && !sources_.empty()) {
      Labels labels({{std::string(kMetricName), std::string(words[1])}});
      for (size_t i = 2; i < words.size(); ++i) {
        const size_t at = words[i].find('=');
        labels = labels.With(words[i].substr(0, at), words[i].substr(at + 1));
      }
      sources_.back().schema.series.push_back({std::move(labels), SeriesKind::kGauge});
      return OkStatus();
    }
    if (words[0] == "batch" && words.size() == 4) {
      source_ = &sources_.at(std::stoull(std::string(words[1])));
      last_ns_ = std::stoll(std::string(words[2]));
      mode_ = words[3];
      return OkStatus();
    }
    if ((words[0] == "beat" || words[0] == "goodbye") && words.size() == 3) {
      source_ = &sources_.at(std::stoull(std::string(words[1])));
      last_ns_ = std::stoll(std::string(words[2]));
      empty_ = true;
      goodbye_ = words[0] == "goodbye";
      return Send();
    }
    if (words[0] == "boot" && words.size() == 3) {
      Batch& batch = sources_.at(std::stoull(std::string(words[1]))).batch;
      batch.boot_id = words[2];
      batch.sequence = 0;
      batch.info.start = EventTime();
      return OkStatus();
    }
    if (words[0] == "clock" && words.size() == 2) {
      last_ns_ = std::stoll(std::string(words[1]));
      ControlRecord tick;
      tick.elapsed = Duration::Seconds(ticked_ ? 1 : 0);
      ticked_ = true;
      std::string bytes;
      codec::EncodeControl(tick, &bytes);
      return Append(std::string(kControlKey), std::move(bytes));
    }
    return InvalidArgument(Cat(Quote(words[0]), " with ", words.size(),
                               " words; see the comment at the top of the source file"));
  }

  Status TakeTick(const std::vector<std::string_view>& words) {
    if (source_ == nullptr || words.size() != 3 + source_->schema.series.size())
      return InvalidArgument("tick must have a value for each series of its batch");
    ticks_.times.push_back(std::stoll(std::string(words[1])));
    ticks_.steps.push_back(words[2] == "-" ? kNoStep : std::stoll(std::string(words[2])));
    for (size_t i = 3; i < words.size(); ++i)
      ticks_.values.push_back(words[i] == "_" ? MissingValue() : std::stod(std::string(words[i])));
    return OkStatus();
  }

  // Appends the current batch.
  Status Send() {
    if (source_ == nullptr || (ticks_.times.empty() && !empty_)) return OkStatus();
    Schema& schema = source_->schema;
    schema.id = SchemaId(0, schema.series);
    Batch batch = source_->batch;
    batch.sequence = ++source_->batch.sequence;
    if (batch.info.start.ns() == 0) {
      batch.info.start = EventTime::FromNs(ticks_.times.empty() ? last_ns_ : ticks_.times[0]);
      source_->batch.info.start = batch.info.start;
    }
    batch.promise = EventTime::FromNs(last_ns_);
    batch.goodbye = goodbye_;
    batch.schemas.push_back(schema);
    const bool has_steps = !mode_.empty();
    if (!ticks_.times.empty()) {
      Frame frame{.schema_id = schema.id, .times = ticks_.times, .values = ticks_.values};
      if (has_steps) {
        frame.steps = ticks_.steps;
        frame.mode = mode_;
        batch.info.step_modes = {mode_};
        batch.step_promises.push_back({mode_, ticks_.steps.back()});
      }
      batch.frames.push_back(frame);
    }
    std::string bytes;
    codec::BatchEncoder().Encode(batch, &bytes);
    const Status sent = Append(batch.job, std::move(bytes));
    ticks_ = {};
    source_ = nullptr;
    empty_ = goodbye_ = false;
    return sent;
  }

  // Appends at `last_ns_`, which never decreases.
  Status Append(std::string key, std::string bytes) {
    if (last_ns_ > clock_.WallNs()) clock_.Advance(last_ns_ - clock_.WallNs());
    return appender_->Append({{.topic = std::string(kTelemetryTopic),
                               .partition = 0,
                               .key = std::move(key),
                               .value = std::move(bytes)}});
  }

  const std::string dir_;
  fakes::FakeClock clock_{1};
  log::EmbeddedLogOptions options_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Appender> appender_;
  std::vector<Source> sources_;
  Source* source_ = nullptr;
  int64_t last_ns_ = 0;
  std::string mode_;
  bool empty_ = false;
  bool goodbye_ = false;
  bool ticked_ = false;
  Ticks ticks_;
};

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const pitwall::Status status = pitwall::Writer(argv[1]).Run();
  if (!status.ok()) std::fprintf(stderr, "write_telemetry: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
