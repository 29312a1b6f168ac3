// Cost of ten rules: the engine as in the processor, without the log.
//
//   pipeline_bench [SERIES] [SECONDS OF EVENT TIME] [--data=realistic|noise|dense] [--rules=FILE]
//     [--rules-only] [--check]
//
// The whole path is decode + bind + window + evaluate. --rules-only skips decoding and the handling
// of sources and watermarks: rows go straight to the store, and rules are evaluated. --check does
// the same, but evaluates only after the warm-up. It prints the result of each rule at the last
// tick, for comparison with Prometheus (vs_prometheus.sh). bench_data.h defines the data; the
// default is noise. One thread is measured, in a single run. Lines with "cpu" count CPU time, which
// is less sensitive to other programs on the machine than wall time.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/engine/shard.h"
#include "services/model/value.h"
#include "services/processor/rule_sets.h"
#include "tests/bench/bench_data.h"

namespace {

using namespace pitwall;
using bench::BenchData;
using bench::DataKind;
using bench::kSources;

// tests/bench/ten_alerts.yaml
constexpr char kTenRules[] = R"rules(
groups:
- name: ten
  interval: 1s
  rules:
  - {alert: Avg, expr: "avg_over_time(m[60s]) > 0.995"}
  - {alert: Max, expr: "max_over_time(m[60s]) > 2"}
  - {alert: Stddev, expr: "stddev_over_time(m[60s]) > 1"}
  - {alert: Quantile, expr: "quantile_over_time(0.95, m[60s]) > 1.5"}
  - {alert: Rate, expr: "rate(m[60s]) > 1000"}
  - {alert: LongAvg, expr: "avg_over_time(m[5m]) > 0.995"}
  - {alert: Instant, expr: "m > 0.99", for: 30s}
  - {alert: AvgBy, expr: "avg by (node) (m) > 0.9"}
  - {alert: Straggler, expr: "m > on (node) group_left () (1.99 * avg by (node) (m))", for: 10s}
  - {alert: AvgByAvg, expr: "avg by (node) (avg_over_time(m[60s])) > 0.9"}
)rules";

// The first 310 s fill every window and are excluded from the measurement.
constexpr int kWarmUp = 310;

struct Options {
  int series = 1000;
  int seconds = 900;
  DataKind data = DataKind::kNoise;
  std::string rules = kTenRules;
  bool rules_only = false;
  bool check = false;
};

bool Parse(int argc, char** argv, Options* options) {
  int place = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--rules-only") {
      options->rules_only = true;
    } else if (word == "--check") {
      options->rules_only = options->check = true;
    } else if (word == "--data=realistic") {
      options->data = DataKind::kRealistic;
    } else if (word == "--data=noise") {
      options->data = DataKind::kNoise;
    } else if (word == "--data=dense") {
      options->data = DataKind::kDense;
    } else if (word.starts_with("--rules=")) {
      std::ifstream file{std::string(word.substr(8))};
      if (!file) return false;
      options->rules.assign(std::istreambuf_iterator<char>(file), {});
    } else if (word.starts_with("--") || place > 1) {
      return false;
    } else {
      (place++ == 0 ? options->series : options->seconds) = std::atoi(argv[i]);
    }
  }
  return options->series >= kSources && options->seconds > kWarmUp;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void PrintCpu(const Options& options, double cpu, uint64_t evaluations, uint64_t samples,
              uint64_t checksum) {
  const double rule_series = static_cast<double>(evaluations) * options.series;
  std::printf("cpu: %.3f s, %.2f ns per rule-series, %.1f ns per sample, checksum %016lx\n", cpu,
              cpu * 1e9 / rule_series, cpu * 1e9 / static_cast<double>(samples),
              static_cast<unsigned long>(checksum));
}

// Measures the current speed of this machine by summing 60 samples of each series from scratch
// in each second.
double YardstickSeconds(int series, int seconds) {
  constexpr size_t kWindow = 60;
  std::vector<double> samples(static_cast<size_t>(series) * kWindow, 0.5);
  double total = 0;
  const double begin = CpuSeconds();
  for (int t = 0; t < seconds; ++t) {
    for (size_t i = 0; i < samples.size(); i += kWindow) {
      samples[i + static_cast<size_t>(t) % kWindow] = t;
      double sum = 0;
      for (size_t k = 0; k < kWindow; ++k) sum += samples[i + k];
      total += sum;
    }
  }
  return CpuSeconds() - begin + (total < 0 ? 1 : 0);  // keeps the sums in use
}

// ---- The whole path.

// Returns one encoded batch per source and second of event time.
struct Records {
  std::vector<std::vector<std::string>> by_source{kSources};
  uint64_t checksum = 0;
};

Schema SchemaOf(const BenchData& data, int source, int series) {
  Schema schema;
  for (int i = source; i < series; i += kSources)
    schema.series.push_back({data.LabelsOf(static_cast<size_t>(i)), SeriesKind::kGauge});
  schema.id = SchemaId(0, schema.series);
  return schema;
}

Records Encode(const Options& options) {
  Records records;
  BenchData data(options.data, options.series);
  codec::BatchEncoder encoder;
  std::vector<Schema> schemas(kSources);
  bool changed = true;
  for (int t = 0; t < options.seconds; ++t) {
    const std::vector<double>& all = data.Second(t);
    for (int s = 0; s < kSources; ++s) {
      Schema& schema = schemas[static_cast<size_t>(s)];
      bool with_schema = t % 5 == 0;
      if (changed) {
        Schema now = SchemaOf(data, s, options.series);
        with_schema = with_schema || now.id != schema.id;
        schema = std::move(now);
      }
      std::vector<double> values;
      for (size_t i = static_cast<size_t>(s); i < all.size(); i += kSources)
        values.push_back(all[i]);
      const int64_t times[] = {data.TimeOf(s, t)};
      Batch batch;
      batch.job = "job";
      batch.source = Cat("collector@", s);
      batch.boot_id = "b";
      batch.sequence = static_cast<uint64_t>(t) + 1;
      batch.info = {
          .kind = SourceKind::kNode, .node = Cat(s), .start = EventTime::FromNs(bench::kBase)};
      batch.promise = EventTime::FromNs(times[0]);
      if (with_schema) batch.schemas.push_back(schema);
      batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
      std::string bytes;
      encoder.Encode(batch, &bytes);
      records.by_source[static_cast<size_t>(s)].push_back(std::move(bytes));
    }
    changed = data.Replaces();
  }
  records.checksum = data.checksum();
  return records;
}

int RunWholePath(const Options& options, const engine::CompiledRulesPtr& rules) {
  const clock::SystemClock clock;
  engine::FixedRules provider(rules);
  engine::Shard shard(&provider, {});
  if (!shard.SetInitialRules("ten").ok()) return 1;
  const Records records = Encode(options);
  engine::EventSink outputs;
  int64_t offset = 0;
  int64_t begin = 0;
  double cpu = 0;
  engine::EngineCounters before;
  for (int t = 0; t < options.seconds; ++t) {
    if (t == kWarmUp) {
      begin = clock.MonotonicNs();
      cpu = CpuSeconds();
      before = shard.counters();
    }
    const int64_t now = bench::kBase + t * kNanosPerSecond;
    for (const auto& source : records.by_source) {
      if (!shard
               .Apply(LogOffset(offset++), AppendTime::FromNs(now), "job",
                      source[static_cast<size_t>(t)], &outputs)
               .ok())
        return 1;
    }
  }
  const int64_t end = clock.MonotonicNs();
  cpu = CpuSeconds() - cpu;
  // Measures only the decoding of the same bytes, as a reference for the current speed of this
  // machine.
  codec::BatchDecoder decoder;
  double sum = 0;
  const int64_t decode_begin = clock.MonotonicNs();
  for (int t = kWarmUp; t < options.seconds; ++t) {
    for (const auto& source : records.by_source) {
      const auto decoded = decoder.Decode(source[static_cast<size_t>(t)]);
      if (!decoded.ok()) return 1;
      for (const Frame& frame : decoded->batch->frames) sum += frame.values.front();
    }
  }
  const int64_t decode_end = clock.MonotonicNs();
  const double took = static_cast<double>(end - begin) / 1e9;
  const uint64_t samples = shard.counters().samples - before.samples;
  const uint64_t evaluations = shard.counters().evaluations - before.evaluations;
  std::printf(
      "%d series, %d s: %.2f M samples/s/core, %.1f M rule-series evaluations/s/core, %.0f KiB "
      "of state, %zu events\n",
      options.series, options.seconds - kWarmUp, static_cast<double>(samples) / took / 1e6,
      static_cast<double>(evaluations) * options.series / took / 1e6,
      static_cast<double>(shard.jobs().All()[0]->MemoryBytes()) / 1024, outputs.events.size());
  std::printf("the whole path takes %.1f times as long as decoding alone%s\n",
              static_cast<double>(end - begin) / static_cast<double>(decode_end - decode_begin),
              sum == 0 ? "." : "");
  PrintCpu(options, cpu, evaluations, samples, records.checksum);
  std::printf(
      "the whole path takes %.2f times as long as summing 60 samples of each series again\n",
      cpu / YardstickSeconds(options.series, options.seconds - kWarmUp));
  return 0;
}

// ---- Rules only.

// Prints the result of each rule at the last tick, as prometheus/main.go does.
class Verdicts final : public engine::RuleObserver {
 public:
  explicit Verdicts(Position last) : last_(last) {}
  void Failed(const plan::Rule& rule, const Status& error) override {
    std::fprintf(stderr, "%s: %s\n", rule.name.c_str(), error.ToString().c_str());
  }
  void Alerts(const alert::AlertInput& input, const alert::AlertState& state) override {
    if (input.at.position != last_) return;
    Line& line = lines_[state.rule().alert()];
    line.firing = state.firing();
    line.count = state.firing() + state.pending();
    for (size_t i = 0; i < line.count; ++i) line.sum += state.Active(i).value;
  }
  void Recorded(const Labels& labels, Position position, double value) override {
    if (position != last_ || IsStale(value)) return;
    Line& line = lines_[std::string(labels.Get(kMetricName))];
    ++line.count;
    line.sum += value;
  }
  void Print() const {
    for (const auto& [name, line] : lines_)
      std::printf("check %s %zu %zu %.17g\n", name.c_str(), line.count, line.firing, line.sum);
  }

 private:
  struct Line {
    size_t count = 0;
    size_t firing = 0;
    double sum = 0;
  };
  Position last_;
  std::map<std::string, Line> lines_;
};

bool PlanRows(const BenchData& data, int series, window::SeriesStore* store,
              std::vector<window::RowPlanId>* plans) {
  for (const window::RowPlanId plan : *plans) store->ReleasePlan(plan);
  plans->clear();
  for (int s = 0; s < kSources; ++s) {
    std::vector<window::SeriesId> ids;
    for (int i = s; i < series; i += kSources) {
      const auto id = store->Intern(data.LabelsOf(static_cast<size_t>(i)));
      if (!id.ok()) return false;
      ids.push_back(*id);
    }
    auto plan = store->Plan(std::move(ids));
    if (!plan.ok()) return false;
    plans->push_back(*plan);
  }
  return true;
}

int RunRulesOnly(const Options& options, const engine::CompiledRulesPtr& rules) {
  engine::EngineCounters counters;
  engine::ClockDomain runner(rules->program(), 0, {}, &counters);
  const Position begin_at = Position::FromNs(bench::kBase);
  const Position last = begin_at + Duration::Seconds(options.seconds - 1);
  Verdicts verdicts(last);
  if (options.check) runner.evaluator().SetObserver(&verdicts);
  runner.ticks().SetOrigin(
      begin_at, options.check ? begin_at + Duration::Seconds(kWarmUp - 1) : Position::Earliest());
  BenchData data(options.data, options.series);
  std::vector<window::RowPlanId> plans;
  std::vector<std::string> names;
  for (int s = 0; s < kSources; ++s) names.push_back(Cat("collector@", s));
  std::vector<std::vector<double>> rows(kSources);
  engine::JobIdentity job{.id = "job"};
  engine::EventSink outputs;
  double cpu = 0;
  uint64_t samples = 0;
  engine::EngineCounters before;
  bool changed = true;
  for (int t = 0; t < options.seconds; ++t) {
    if (t == kWarmUp) before = counters;
    const std::vector<double>& all = data.Second(t);
    for (auto& row : rows) row.clear();
    for (size_t i = 0; i < all.size(); ++i) {
      rows[static_cast<size_t>(BenchData::SourceOf(i))].push_back(all[i]);
      if (t >= kWarmUp && !IsMissing(all[i])) ++samples;
    }
    const double begin = CpuSeconds();
    if (changed && !PlanRows(data, options.series, runner.store().get(), &plans)) return 1;
    for (size_t s = 0; s < kSources; ++s) {
      const window::RowKey key{Position::FromNs(data.TimeOf(static_cast<int>(s), t)), names[s], "b",
                               static_cast<uint64_t>(t) + 1, 0};
      if (!runner.store()->Append(key, plans[s], rows[s]).ok()) return 1;
    }
    const Position now = begin_at + Duration::Seconds(t);
    for (Position tick = runner.ticks().NextTick(); tick <= now; tick = runner.ticks().NextTick())
      runner.Evaluate({.position = tick, .time = EventTimeOf(tick), .attempt = 1}, job, &outputs);
    // Runs once per minute, as in a job.
    if (t % 60 == 0) runner.Expire();
    if (t >= kWarmUp) cpu += CpuSeconds() - begin;
    changed = data.Replaces();
  }
  std::printf("rules only: %d series, %d s, %zu events, %.0f KiB of state\n", options.series,
              options.seconds - kWarmUp, outputs.events.size(),
              static_cast<double>(runner.MemoryBytes()) / 1024);
  PrintCpu(options, cpu, counters.evaluations - before.evaluations, samples, data.checksum());
  verdicts.Print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: pipeline_bench [SERIES >= %d] [SECONDS > %d] "
                 "[--data=realistic|noise|dense] [--rules=FILE] [--rules-only] [--check]\n",
                 kSources, kWarmUp);
    return 2;
  }
  const auto rules = engine::CompiledRules::Compile({.files = {{"ten.yaml", options.rules}}});
  if (!rules.ok()) {
    std::fprintf(stderr, "%s\n", rules.status().ToString().c_str());
    return 1;
  }
  return options.rules_only ? RunRulesOnly(options, *rules) : RunWholePath(options, *rules);
}
