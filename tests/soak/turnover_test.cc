// Memory usage of the log, processor, notifier, and history over a day of simulated time as jobs
// come and go. Memory must reach a plateau.
//
//   $PITWALL_TURNOVER_SECONDS  seconds between the starts of two jobs (60)
//   $PITWALL_TURNOVER_KEEP     1: the history keeps all jobs in memory and never unloads them
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/ingest/history_service.h"
#include "services/io/topics.h"
#include "services/notifier/notifier.h"
#include "services/processor/processor.h"
#include "tests/soak/sim_clock.h"

namespace pitwall::soak {
namespace {

constexpr int64_t kS = kNanosPerSecond;
constexpr int64_t kBegin = 1'767'225'600 * kS;
constexpr int kHours = 24;
constexpr int kChunk = 5;  // seconds per append
constexpr int kLife = 40;  // duration of a job in seconds

constexpr char kRules[] = R"rules(
groups:
- name: soak
  interval: 5s
  rules:
  - {alert: LossHigh, expr: train_loss > 5, needs: [train_loss], labels: {severity: warning}}
)rules";

int64_t Setting(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// Records of one job: eight ranks with their own schemas, values every five seconds, and the job's
// end.
class SoakJob {
 public:
  SoakJob(int64_t number, int64_t start_ns) : id_(Cat("job-", number)), start_ns_(start_ns) {
    for (int rank = 0; rank < kRanks; ++rank) {
      Schema& schema = schemas_.emplace_back();
      schema.stream = static_cast<uint32_t>(rank);
      for (int i = 0; i < 16; ++i) {
        schema.series.push_back(
            {Labels({{std::string(kMetricName), i == 0 ? "train_loss" : Cat("metric_", i)},
                     {"node", Cat("node-", number)},
                     {"rank", Cat(rank)}}),
             SeriesKind::kGauge});
      }
      schema.id = SchemaId(schema.stream, schema.series);
    }
  }
  bool over(int64_t now_ns) const { return now_ns >= start_ns_ + kLife * kS; }

  void Write(int64_t now_ns, std::vector<OutgoingRecord>* out) {
    ++sequence_;
    for (size_t rank = 0; rank < schemas_.size(); ++rank) {
      const int64_t times[] = {now_ns};
      std::vector<double> values(16, 1.0);
      values[0] = sequence_ % 4 == 0 ? 9.0 : 1.0;
      Batch batch;
      batch.job = id_;
      batch.source = Cat(id_, "/rank-", rank);
      batch.boot_id = "boot";
      batch.sequence = sequence_;
      batch.info.kind = SourceKind::kRank;
      batch.info.rank = static_cast<int64_t>(rank);
      batch.info.node = "node";
      batch.info.start = EventTime::FromNs(start_ns_);
      batch.promise = EventTime::FromNs(now_ns);
      if (sequence_ == 1) batch.schemas.push_back(schemas_[rank]);
      batch.frames.push_back({.schema_id = schemas_[rank].id, .times = times, .values = values});
      batch.goodbye = over(now_ns);
      if (over(now_ns) && rank == 0)
        batch.events.push_back({.kind = JobEvent::Kind::kEnded, .time = EventTime::FromNs(now_ns)});
      std::string bytes;
      encoder_.Encode(batch, &bytes);
      out->push_back({.topic = std::string(kTelemetryTopic),
                      .partition = 0,
                      .key = id_,
                      .value = std::move(bytes)});
    }
  }

 private:
  static constexpr int kRanks = 8;
  const std::string id_;
  const int64_t start_ns_;
  uint64_t sequence_ = 0;
  std::vector<Schema> schemas_;
  codec::BatchEncoder encoder_;
};

struct Usage {
  double heap_mib = 0;      // allocated with malloc
  double resident_mib = 0;  // after malloc_trim
};

Usage Measure() {
  ::malloc_trim(0);
  long pages = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {static_cast<double>(::mallinfo2().uordblks) / (1 << 20),
          static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)) / (1 << 20)};
}

class TurnoverTest : public ::testing::Test {
 protected:
  TurnoverTest() {
    dir_ = Cat(::testing::TempDir(), "/pitwall-turnover-", ::getpid());
    std::filesystem::remove_all(dir_);
    StartLogAndProcessor();
    StartReaders();
  }
  ~TurnoverTest() override {
    // Services wait in simulated time while they stop, so a separate thread advances the clock.
    std::atomic<bool> stopped = false;
    std::thread time([&] {
      const auto pause = system_.NewWakeup();
      while (!stopped) {
        clock_.Advance(kS);
        pause->Wait(kNanosPerMilli);
      }
    });
    if (notifier_ != nullptr) notifier_->Stop();
    history_ = nullptr;
    processor_ = nullptr;
    stopped = true;
    time.join();
    std::filesystem::remove_all(dir_);
  }

  void StartLogAndProcessor() {
    log::EmbeddedLogOptions options;
    options.dir = dir_ + "/log";
    options.fsync = log::FsyncPolicy::kNever;
    options.background = false;
    options.segment_bytes = 1 << 20;
    auto log = log::OpenEmbeddedLog(options, &clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    processor::ProcessorOptions processor;
    processor.telemetry_partitions = 1;
    processor.telemetry_retention_ms = 2 * 3600 * 1000;
    processor.partition.clock_ticks = false;
    processor.partition.engine.partition.max_tombstones = kEndedJobs;
    processor_ = std::make_unique<processor::Processor>(&clock_, log_.get(), processor);
    const auto rules = engine::CompiledRules::Accept({.files = {{"soak.yaml", kRules}}});
    ASSERT_TRUE(rules.ok()) << rules.status();
    ASSERT_TRUE(processor_->Start(*rules).ok());
    appender_ = *log_->OpenAppender();
  }
  void StartReaders() {
    notifier::NotifierOptions notifier;
    notifier.max_ended_issues = kEndedJobs;
    notifier.window_events = kEndedJobs;
    auto made = notifier::Notifier::Make(&clock_, log_.get(), {}, notifier);
    ASSERT_TRUE(made.ok()) << made.status();
    notifier_ = *std::move(made);
    ASSERT_TRUE(notifier_->Start().ok());
    history::HistoryOptions history;
    history.dir = dir_ + "/insights";
    history.retention_ns = 12 * 3600 * kS;
    history.memory_bytes = size_t{16} << 20;
    history.save_interval_ns = 60 * kS;  // Each save flushes the disk.
    if (Setting("PITWALL_TURNOVER_KEEP", 0) != 0) history.unload_after_ns = INT64_MAX;
    auto keep = history::HistoryService::Open(&clock_, log_.get(), history);
    ASSERT_TRUE(keep.ok()) << keep.status();
    history_ = *std::move(keep);
    ASSERT_TRUE(history_->Start().ok());
  }

  // Starts jobs at regular intervals and writes their records for `seconds`.
  void Run(int64_t seconds) {
    for (int64_t s = 0; s < seconds; s += kChunk) {
      clock_.Advance(kChunk * kS);
      const int64_t now_ns = clock_.WallNs();
      if (now_ns >= next_job_ns_) {
        jobs_.emplace_back(std::make_unique<SoakJob>(++started_, now_ns));
        next_job_ns_ = now_ns + between_jobs_ns_;
      }
      std::vector<OutgoingRecord> records;
      for (const auto& job : jobs_) job->Write(now_ns, &records);
      std::erase_if(jobs_, [&](const auto& job) { return job->over(now_ns); });
      std::string tick;
      codec::EncodeControl(
          {.kind = ControlRecord::Kind::kClockTick, .elapsed = Duration::Nanos(kChunk * kS)},
          &tick);
      records.push_back({.topic = std::string(kTelemetryTopic),
                         .partition = 0,
                         .key = std::string(kControlKey),
                         .value = std::move(tick)});
      appended_ += records.size();
      ASSERT_TRUE(appender_->Append(std::move(records)).ok());
      if (s % 600 == 0) Drain();
    }
  }
  // Waits until all services have read and sealed everything.
  void Drain() {
    const auto pause = system_.NewWakeup();
    const auto drained = [&] {
      return static_cast<uint64_t>(processor_->stats()[0].commits.next_offset) >= appended_ &&
             history_->counters().records >= appended_;
    };
    for (int i = 0; i < 60'000 && !drained(); ++i) {
      clock_.Advance(5 * kNanosPerMilli);
      pause->Wait(kNanosPerMilli);
    }
    ASSERT_TRUE(drained()) << processor_->stats()[0].commits.next_offset << " and "
                           << history_->counters().records << " of " << appended_;
  }
  Usage RunHour() {
    Run(3600);
    Drain();
    EXPECT_TRUE(log_->Maintain().ok());
    EXPECT_FALSE(history_->history().Jobs().empty());  // As the page does.
    return Measure();
  }

  static constexpr uint32_t kEndedJobs = 300;
  std::string dir_;
  SimClock clock_{kBegin};
  clock::SystemClock system_;
  std::unique_ptr<log::EmbeddedLog> log_;
  std::unique_ptr<processor::Processor> processor_;
  std::unique_ptr<notifier::Notifier> notifier_;
  std::unique_ptr<history::HistoryService> history_;
  std::unique_ptr<Appender> appender_;
  std::vector<std::unique_ptr<SoakJob>> jobs_;
  const int64_t between_jobs_ns_ = Setting("PITWALL_TURNOVER_SECONDS", 60) * kS;
  int64_t next_job_ns_ = 0;
  int64_t started_ = 0;
  uint64_t appended_ = 0;
};

TEST_F(TurnoverTest, MemoryOfEndedJobs_ReachesPlateau) {
  std::vector<Usage> hours;
  for (int hour = 1; hour <= kHours; ++hour) {
    hours.push_back(RunHour());
    ASSERT_FALSE(HasFatalFailure());
    if (hour % 3 == 0) {
      std::printf("hour %2d: %6lld jobs, heap %.1f MiB, resident %.1f MiB\n", hour,
                  static_cast<long long>(started_), hours.back().heap_mib,
                  hours.back().resident_mib);
    }
  }
  const Usage& before = hours[kHours - 7];
  for (auto at = hours.end() - 6; at != hours.end(); ++at) {
    EXPECT_LE(at->heap_mib, before.heap_mib * 1.05);
    EXPECT_LE(at->resident_mib, before.resident_mib * 1.05);
  }
}

}  // namespace
}  // namespace pitwall::soak
