#include "services/loadgen/load_run.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/io/io.h"
#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

constexpr int64_t kStart = 1'700'000'000 * kNanosPerSecond;

class Kept final : public LoadSink {
 public:
  struct One {
    int64_t arrival_ns;
    std::string key;
    std::string value;
  };
  Status Deliver(int64_t arrival_ns, std::string_view key, std::string value, int32_t) override {
    EXPECT_GE(arrival_ns, reached_);
    records.push_back({arrival_ns, std::string(key), std::move(value)});
    return OkStatus();
  }
  Status Reach(int64_t now_ns) override {
    EXPECT_GE(now_ns, reached_);
    reached_ = now_ns;
    return OkStatus();
  }
  int32_t partitions() const override { return 2; }
  std::vector<One> records;

 private:
  int64_t reached_ = 0;
};

LoadPlan Small() {
  LoadPlan plan;
  plan.start_ns = kStart;
  plan.duration_ns = 30 * kNanosPerSecond;
  plan.nodes = 2;
  plan.gpus = 2;
  plan.cores = 3;
  return plan;
}

using Key = std::tuple<std::string, std::string, std::string, uint64_t>;

// Decodes the sink's records as the engine does, and collects the batch identities.
struct Read {
  explicit Read(const Kept& kept) {
    codec::BatchDecoder decoder;
    for (const Kept::One& record : kept.records) {
      auto decoded = decoder.Decode(record.value);
      EXPECT_TRUE(decoded.ok()) << decoded.status();
      if (!decoded.ok()) return;
      if (decoded->control != nullptr) {
        ++controls;
        continue;
      }
      const Batch& batch = *decoded->batch;
      EXPECT_EQ(batch.job, record.key);
      if (!batches.insert({batch.job, batch.source, batch.boot_id, batch.sequence}).second) {
        ++duplicates;
        continue;
      }
      for (const SharedSchema& schema : batch.schemas) schemas[schema->id] = *schema;
      for (const Frame& frame : batch.frames) Count(frame, batch);
      spans += batch.spans.size();
    }
  }
  void Count(const Frame& frame, const Batch& batch) {
    for (int64_t time : frame.times) EXPECT_LE(time, batch.promise.ns());
    for (double value : frame.values) samples += IsMissing(value) ? 0 : 1;
  }
  std::set<Key> batches;
  std::map<uint64_t, Schema> schemas;
  uint64_t samples = 0;
  uint64_t spans = 0;
  uint64_t duplicates = 0;
  uint64_t controls = 0;
};

Kept RunPlan(const LoadPlan& plan, LoadTotals* totals = nullptr,
             std::vector<Planted>* planted = nullptr) {
  Kept kept;
  LoadRun run(plan, &kept);
  const Status status = run.Run([&](const Planted& one) {
    if (planted != nullptr) planted->push_back(one);
  });
  EXPECT_TRUE(status.ok()) << status;
  if (totals != nullptr) *totals = run.totals();
  return kept;
}

TEST(LoadRun, EqualSeeds_ProduceIdenticalRecords) {
  LoadPlan plan = Small();
  plan.delivery.late = plan.delivery.reordered = plan.delivery.duplicated = plan.delivery.dropped =
      0.1;
  const Kept one = RunPlan(plan);
  const Kept two = RunPlan(plan);
  plan.seed = 2;
  const Kept other = RunPlan(plan);
  ASSERT_EQ(one.records.size(), two.records.size());
  bool differs = other.records.size() != one.records.size();
  for (size_t i = 0; i < one.records.size(); ++i) {
    EXPECT_EQ(one.records[i].value, two.records[i].value);
    EXPECT_EQ(one.records[i].arrival_ns, two.records[i].arrival_ns);
    if (!differs) differs = one.records[i].value != other.records[i].value;
  }
  EXPECT_TRUE(differs);
}

TEST(LoadRun, TotalsMatchRecords) {
  LoadTotals totals;
  const Read read(RunPlan(Small(), &totals));
  EXPECT_EQ(read.samples, totals.samples);
  EXPECT_EQ(read.spans, totals.spans);
  EXPECT_EQ(read.batches.size(), totals.batches);
  EXPECT_EQ(read.duplicates, 0u);
  // The load has 2 nodes with 60 ticks each. Each node has 29 system series, 3 x 16 core series, 2
  // x 52 GPU series, and 2 x 2 process series.
  EXPECT_GT(totals.samples, 2u * 58 * (29 + 48 + 104 + 4));
}

TEST(LoadRun, FaultRatesMatchPlan) {
  LoadPlan plan = Small();
  plan.duration_ns = 300 * kNanosPerSecond;
  plan.delivery.late = 0.05;
  plan.delivery.reordered = 0.1;
  plan.delivery.duplicated = 0.2;
  plan.delivery.dropped = 0.15;
  LoadTotals totals;
  const Read read(RunPlan(plan, &totals));
  const auto batches = static_cast<double>(totals.batches);
  EXPECT_NEAR(static_cast<double>(totals.dropped) / batches, 0.15, 0.02);
  EXPECT_NEAR(static_cast<double>(totals.late) / (0.85 * batches), 0.05, 0.02);
  EXPECT_NEAR(static_cast<double>(totals.reordered) / (0.85 * batches), 0.1, 0.02);
  EXPECT_NEAR(static_cast<double>(totals.duplicated) / (0.85 * batches), 0.2, 0.02);
  EXPECT_EQ(read.duplicates, totals.duplicated);
  EXPECT_EQ(read.batches.size(), totals.batches - totals.dropped);
  EXPECT_EQ(read.samples, totals.samples - totals.dropped_samples);
  EXPECT_EQ(read.spans, totals.spans - totals.dropped_spans);
}

// A late batch delays all later batches of its source. A reordered batch does not.
TEST(LoadRun, LateBatchesKeepOrder_ReorderedBatchesDoNot) {
  for (const bool reorder : {false, true}) {
    LoadPlan plan = Small();
    plan.delivery.late = reorder ? 0 : 0.2;
    plan.delivery.reordered = reorder ? 0.2 : 0;
    const Kept kept = RunPlan(plan);
    std::map<std::string, uint64_t> newest;
    size_t swapped = 0;
    codec::BatchDecoder decoder;
    for (const Kept::One& record : kept.records) {
      const Batch& batch = *decoder.Decode(record.value)->batch;
      uint64_t& last = newest[batch.source];
      swapped += batch.sequence < last;
      last = std::max(last, batch.sequence);
    }
    EXPECT_EQ(swapped > 0, reorder);
  }
}

TEST(LoadRun, EverySeriesIsInTheCatalog) {
  std::ifstream file("rules/metrics.yaml");
  ASSERT_TRUE(file.good()) << "run in the source folder";
  std::map<std::string, std::set<std::string>> catalogue;
  std::string line, name;
  while (std::getline(file, line)) {
    const std::string_view text = Trim(line);
    if (StartsWith(text, "- name: ")) name = std::string(text.substr(8));
    if (!StartsWith(text, "labels: [")) continue;
    for (std::string_view label : Split(text.substr(9, text.find(']') - 9), ','))
      if (!Trim(label).empty()) catalogue[name].insert(std::string(Trim(label)));
  }
  LoadPlan plan = Small();
  plan.faults = {*ParseFault("gpu,rank=3,from=10s")};
  const Read read(RunPlan(plan));
  std::set<std::string> seen;
  for (const auto& [id, schema] : read.schemas) {
    for (const SeriesDescriptor& series : schema.series) {
      const std::string metric(series.labels.Name());
      std::set<std::string> labels;
      for (const Label& label : series.labels)
        if (label.name != kMetricName) labels.insert(label.name);
      EXPECT_EQ(catalogue[metric], labels) << metric;
      EXPECT_EQ(series.kind == SeriesKind::kCounter, EndsWith(metric, "_total")) << metric;
      seen.insert(metric);
    }
  }
  for (const char* metric : {"gpu_xid_errors_total", "train_phase_state", "train_world_size",
                             "process_memory_usage_bytes", "gpu_nvlink_errors_total"})
    EXPECT_TRUE(seen.contains(metric)) << metric;
  EXPECT_GT(seen.size(), 50u);
}

// The values have the same resolution as the values that the collector reads.
TEST(LoadRun, RatiosAreQuantizedAndCountersNeverDecrease) {
  const Kept kept = RunPlan(Small());
  codec::BatchDecoder decoder;
  std::map<uint64_t, Schema> schemas;
  std::map<std::string, double> last;
  size_t ratios = 0;
  for (const Kept::One& record : kept.records) {
    const Batch& batch = *decoder.Decode(record.value)->batch;
    for (const SharedSchema& schema : batch.schemas) schemas[schema->id] = *schema;
    for (const Frame& frame : batch.frames) {
      const Schema& schema = schemas[frame.schema_id];
      const size_t width = schema.series.size();
      for (size_t i = 0; i < frame.values.size(); ++i) {
        const SeriesDescriptor& series = schema.series[i % width];
        const double value = frame.values[i];
        if (IsMissing(value)) continue;
        if (series.kind == SeriesKind::kCounter) {
          double& before = last.try_emplace(series.labels.ToString(), value).first->second;
          EXPECT_GE(value, before) << series.labels.ToString();
          before = value;
        }
        if (series.labels.Name() == "system_cpu_utilization_ratio") {
          // The ratios are multiples of 1/50 because an interval of 500 ms contains 50 jiffies.
          EXPECT_NEAR(value * 50, std::round(value * 50), 1e-9);
          ++ratios;
        }
        if (series.labels.Name() == "hw_gpu_utilization_ratio") {
          EXPECT_DOUBLE_EQ(value, std::round(value * 100) * 0.01);
        }
        if (series.labels.Name() == "hw_power_watts") {
          EXPECT_DOUBLE_EQ(value, std::round(value * 1000) / 1000);
        }
      }
    }
  }
  EXPECT_GT(ratios, 1000u);
}

TEST(LoadRun, DeathIsReportedAndNextAttemptStarts) {
  LoadPlan plan = Small();
  plan.duration_ns = 60 * kNanosPerSecond;
  plan.faults = {*ParseFault("death,rank=1,from=20s,restart=10s,signal=9")};
  std::vector<Planted> planted;
  const Kept kept = RunPlan(plan, nullptr, &planted);
  ASSERT_EQ(planted.size(), 1u);
  EXPECT_EQ(planted[0].from_ns, kStart + 20 * kNanosPerSecond);
  codec::BatchDecoder decoder;
  std::map<int64_t, int> lost;
  std::set<uint64_t> attempts;
  size_t steps_after = 0;
  for (const Kept::One& record : kept.records) {
    const Batch& batch = *decoder.Decode(record.value)->batch;
    if (batch.info.attempt.has_value()) attempts.insert(*batch.info.attempt);
    for (const JobEvent& event : batch.events) {
      if (event.kind != JobEvent::Kind::kRankLost) continue;
      lost[event.rank_lost.rank] = event.rank_lost.signal.value_or(0);
    }
    for (const Span& span : batch.spans)
      steps_after += span.kind == Span::Kind::kStep && batch.info.attempt == 2u;
  }
  EXPECT_EQ(attempts, (std::set<uint64_t>{1, 2}));
  EXPECT_EQ(lost, (std::map<int64_t, int>{{0, 15}, {1, 9}, {2, 15}, {3, 15}}));
  EXPECT_GT(steps_after, 4u * 50);
}

TEST(LoadRun, JobsStartAndEnd) {
  LoadPlan plan = Small();
  plan.jobs = 2;
  plan.nodes = 1;
  plan.duration_ns = 120 * kNanosPerSecond;
  plan.life_ns = 20 * kNanosPerSecond;
  LoadTotals totals;
  const Kept kept = RunPlan(plan, &totals);
  EXPECT_GE(totals.jobs, 6u);
  codec::BatchDecoder decoder;
  std::set<std::string> jobs, ended;
  for (const Kept::One& record : kept.records) {
    const Batch& batch = *decoder.Decode(record.value)->batch;
    jobs.insert(batch.job);
    EXPECT_FALSE(ended.contains(batch.job) && batch.info.kind == SourceKind::kRank);
    for (const JobEvent& event : batch.events)
      if (event.kind == JobEvent::Kind::kEnded) ended.insert(batch.job);
  }
  EXPECT_EQ(jobs.size(), totals.jobs);
  EXPECT_EQ(ended, jobs);
}

TEST(LoadRun, EachPartitionReceivesTickEverySecond) {
  LoadPlan plan = Small();
  plan.ticks = true;
  const Read read(RunPlan(plan));
  EXPECT_NEAR(static_cast<double>(read.controls), 2 * 31, 2);
}

TEST(LoadRun, GeneratesMillionsOfSamplesPerSecond) {
  LoadPlan plan;
  plan.start_ns = kStart;
  plan.duration_ns = 20 * kNanosPerSecond;
  plan.nodes = 2;
  class Counted final : public LoadSink {
   public:
    Status Deliver(int64_t, std::string_view, std::string, int32_t) override { return OkStatus(); }
    Status Reach(int64_t) override { return OkStatus(); }
    int32_t partitions() const override { return 1; }
  } sink;
  const clock::SystemClock clock;
  LoadRun run(plan, &sink);
  const int64_t begun = clock.MonotonicNs();
  ASSERT_TRUE(run.Run(nullptr).ok());
  const double seconds = static_cast<double>(clock.MonotonicNs() - begun) / 1e9;
  const double rate = static_cast<double>(run.totals().samples) / seconds;
  RecordProperty("samples_per_second", FormatDouble(rate));
  printf("%.2f M samples/s\n", rate / 1e6);
  EXPECT_GT(rate, 1e5);  // low threshold because sanitizers and busy machines are slow
}

}  // namespace
}  // namespace pitwall::loadgen
