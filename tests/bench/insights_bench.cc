// Cost of the history's ingestion and sealing: `insights_bench [MINUTES]` prints samples per second
// and core, bytes on disk per million samples, and the time relative to compare.py's reference
// (packing the same records with zstd). The data simulates two nodes with 96 cores and 8 GPUs at
// 500 ms.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <utility>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/blocks/zstd_text.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/flush/flush_input.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/store/stored_job.h"

namespace pitwall::history {
namespace {

constexpr int64_t kStart = 1'767'225'600 * kNanosPerSecond;
constexpr size_t kCores = 96;
constexpr size_t kModes = 8;

Schema NodeSchema(int node) {
  Schema schema;
  schema.stream = 1;
  for (size_t core = 0; core < kCores; ++core) {
    for (size_t mode = 0; mode < kModes; ++mode) {
      schema.series.push_back({Labels({{"__name__", "system_cpu_utilization_ratio"},
                                       {"node", Cat("node-", node)},
                                       {"cpu", Cat(core)},
                                       {"mode", Cat("mode-", mode)}}),
                               SeriesKind::kGauge});
    }
  }
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (const char* name :
         {"hw_gpu_utilization_ratio", "hw_power_watts", "hw_temperature_celsius"})
      schema.series.push_back(
          {Labels({{"__name__", name}, {"node", Cat("node-", node)}, {"gpu", Cat(gpu)}}),
           SeriesKind::kGauge});
  }
  schema.id = SchemaId(schema.stream, schema.series);
  return schema;
}

// A core is busy or idle for some time. Ratios are multiples of 1/50, as if computed from jiffies.
double CellOf(size_t column, std::mt19937_64* random) {
  if (column < kCores * kModes) {
    const size_t mode = column % kModes;
    if (mode > 2) return 0;
    const bool busy = (column / kModes) % 3 == 0;
    return static_cast<double>(busy ? (*random)() % 20 : (*random)() % 100 == 0 ? 1 : 0) / 50;
  }
  switch ((column - kCores * kModes) % 3) {
    case 0:
      return static_cast<double>((*random)() % 101) * 0.01;
    case 1:
      return static_cast<double>(200'000 + (*random)() % 500'000) / 1000;
    default:
      return 60 + static_cast<double>((*random)() % 3);
  }
}

int Main(int minutes) {
  std::mt19937_64 random(1);
  std::vector<std::string> records;
  for (int node = 0; node < 2; ++node) {
    const Schema schema = NodeSchema(node);
    for (int second = 0; second < minutes * 60; second += 5) {
      std::vector<int64_t> times;
      std::vector<double> cells;
      for (int row = 0; row < 10; ++row) {
        times.push_back(kStart + second * kNanosPerSecond + row * 500 * kNanosPerMilli);
        for (size_t c = 0; c < schema.series.size(); ++c) cells.push_back(CellOf(c, &random));
      }
      Batch batch;
      batch.job = "job";
      batch.source = Cat("node-", node);
      batch.boot_id = "boot";
      batch.sequence = static_cast<uint64_t>(second / 5) + 1;
      batch.info.node = batch.source;
      batch.promise = EventTime::FromNs(times.back());
      if (second % 30 == 0) batch.schemas.emplace_back(schema);
      Frame frame;
      frame.schema_id = schema.id;
      frame.times = times;
      frame.values = cells;
      batch.frames.push_back(frame);
      codec::EncodeBatch(batch, &records.emplace_back());
    }
  }
  codec::BatchDecoder decoder;
  StoredJob job("job", 1);
  IngestCounts counts;
  int64_t began = clock::ThreadCpuNs();
  for (size_t i = 0; i < records.size(); ++i) {
    const auto record = decoder.Decode(records[i]);
    if (!record.ok() || record->batch == nullptr) return 1;
    job.Ingest(*record->batch, {static_cast<int64_t>(i), 0, 0}, &counts);
  }
  const double ingest = static_cast<double>(clock::ThreadCpuNs() - began) / 1e9;
  const std::string dir = std::filesystem::temp_directory_path() / "pitwall-insights-bench";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  SegmentHints hints;
  uint64_t bytes = 0;
  began = clock::ThreadCpuNs();
  for (const auto& [start, window] : job.windows()) {
    const auto content = FlushInput::Of(window.head.get(), nullptr, &window.seen);
    if (!content.ok()) return 1;
    SegmentMeta facts;
    facts.job = "job";
    facts.window_ns = start;
    const std::string path = Cat(dir, "/", start, ".seg");
    if (!WriteWindow(path, **content, &hints, &facts, nullptr).ok()) return 1;
    bytes += facts.bytes;
  }
  const double sealing = static_cast<double>(clock::ThreadCpuNs() - began) / 1e9;
  std::filesystem::remove_all(dir);
  began = clock::ThreadCpuNs();
  size_t packed = 0;
  for (const std::string& record : records) {
    const auto one = blocks::Pack(record);
    if (!one.ok()) return 1;
    packed += one->size();
  }
  const double yardstick = static_cast<double>(clock::ThreadCpuNs() - began) / 1e9;
  const auto samples = static_cast<double>(counts.samples);
  Print(Cat("samples ", counts.samples, "\ndecode and ingest ", samples / ingest / 1e6,
            " M samples/s\nsealing ", samples / sealing / 1e6, " M samples/s\ntotal ",
            samples / (ingest + sealing) / 1e6, " M samples/s per core\ndisk ",
            static_cast<double>(bytes) / samples, " MB per million samples\ntakes ",
            (ingest + sealing) / yardstick, " times as long as packing the records, to ",
            static_cast<double>(packed) / samples, " MB per million samples\n"));
  return 0;
}

}  // namespace
}  // namespace pitwall::history

int main(int argc, char** argv) {
  const auto minutes = argc > 1 ? pitwall::ParseInt(argv[1]) : std::optional<int64_t>(20);
  return pitwall::history::Main(static_cast<int>(minutes.value_or(20)));
}
