// Damage matrix: applies every kind of damage to every kind of file in a data directory, for both a
// running and a finished job. Afterwards, the events must equal those of the undamaged log, or the
// log must refuse to open with a message that includes the fix. No other result is allowed.
//
// By default, a seeded random part of the matrix runs; PITWALL_DAMAGE_LONG=1 runs all of it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/repair/log_repair.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/topics.h"
#include "services/processor/derived_outputs.h"
#include "services/processor/partition_processor.h"
#include "services/processor/processor.h"
#include "services/processor/rule_sets.h"
#include "tests/scenarios/plan.h"

namespace pitwall::scenarios {
namespace {

namespace fs = std::filesystem;

const std::string kRules = EverySecond(R"rules(
  - {alert: LowGPU, expr: "avg_over_time(hw_gpu_utilization_ratio[10s]) < 0.5", for: 3s}
  - {record: "job:gpu:avg", expr: "avg(hw_gpu_utilization_ratio)"}
  - {alert: Mean, expr: "avg_over_time(job:gpu:avg[20s]) < 0.55", for: 5s}
)rules");
constexpr int64_t kBase = 1'767'225'600 * kSecond;
constexpr int kFlips = 64;

std::vector<ScriptRecord> Input(const std::string& rules) {
  std::mt19937 random(7);
  std::string script = Cat("owner loads ", rules, "\ncollector@0..2 beats\n");
  for (int second = 1; second <= 150; ++second) {
    for (int n = 0; n < 3; ++n) {
      const bool low = (second / 15 + n) % 3 == 0;
      CatTo(script, "collector@", n, " sends hw_gpu_utilization_ratio=",
            static_cast<double>(random() % 1000) / 1000 * (low ? 0.5 : 1), " @", second, "s\n");
    }
  }
  Plan plan(kBase);
  plan.Play(Cat(script, "owner ticks @1s..150s\n"));
  return plan.records;
}

log::EmbeddedLogOptions Options(const std::string& dir) {
  log::EmbeddedLogOptions options;
  options.dir = dir;
  options.background = false;
  options.fsync = log::FsyncPolicy::kInterval;
  options.segment_bytes = 12 << 10;
  return options;
}

class DamageMatrix : public ::testing::Test {
 protected:
  DamageMatrix()
      : root_(Cat(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir(),
                  "/pitwall_damage_XXXXXX")) {
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
    SetLogLevel(static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1));
  }
  ~DamageMatrix() override { fs::remove_all(root_); }

  static Status Append(Log* log, const std::vector<ScriptRecord>& input, size_t from, size_t to) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log->OpenAppender());
    std::vector<OutgoingRecord> records;
    for (size_t i = from; i < to; ++i) {
      records.push_back({.topic = std::string(kTelemetryTopic),
                         .partition = 0,
                         .key = input[i].key,
                         .value = input[i].value});
      if (records.size() == 20 || i + 1 == to) {
        RETURN_IF_ERROR(appender->Append(std::exchange(records, {})));
      }
    }
    return OkStatus();
  }
  // Processes the log. Returns errors such as DataLoss as the processor reports them.
  Status Process(Log* log, bool finish) {
    processor::RuleSets rules(log);
    processor::PartitionOptions options;
    options.clock_ticks = false;
    options.poll_records = 40;
    options.commit_interval = Duration::Zero();
    options.snapshot_interval = Duration::Seconds(20);
    processor::PartitionProcessor processor(0, &clock_, log, &rules, options);
    RETURN_IF_ERROR(processor.Recover());
    for (int turns = 0; turns < 5000; ++turns) {
      RETURN_IF_ERROR(processor.RunOnce(Duration::Zero()));
      if (processor.CaughtUp()) return finish ? processor.Finish() : OkStatus();
    }
    return DeadlineExceeded("the processor does not reach the end of its partition");
  }
  static StatusOr<std::vector<std::string>> Events(Log* log) {
    ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                     log->OpenReader({std::string(kIssuesTopic), 0}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
    std::vector<Record> records;
    while (reader->position() < end) {
      RETURN_IF_ERROR(reader->Poll(1000, 8 << 20, Duration::Zero(), &records));
    }
    std::vector<std::string> values;
    for (Record& record : records) values.push_back(std::move(record.value));
    return values;
  }

  // Stores a copy of the directory after a kill in the middle of the job, and another one after a
  // clean stop at the end.
  void RecordJob() {
    auto log = log::OpenEmbeddedLog(Options(Dir("live")), &clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    processor::ProcessorOptions topics;
    topics.telemetry_partitions = 1;
    ASSERT_TRUE(processor::EnsureTopics(log->get(), topics).ok());
    processor::RuleSets rules(log->get());
    const auto compiled = engine::CompiledRules::Accept({.files = {{"pack.yaml", kRules}}});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const Status published = rules.Publish(*compiled);
    ASSERT_TRUE(published.ok()) << published;
    input_ = Input((*compiled)->hash());
    const size_t half = input_.size() * 6 / 10;
    for (size_t at = 0; at < half; at += half / 4 + 1) {
      ASSERT_TRUE(Append(log->get(), input_, at, std::min(half, at + half / 4 + 1)).ok());
      ASSERT_TRUE(Process(log->get(), false).ok());
    }
    ASSERT_TRUE((*log)->Maintain().ok());
    ASSERT_TRUE((*log)->Sync().ok());
    // Some later records have not been flushed yet.
    ASSERT_TRUE(Append(log->get(), input_, half, half + 10).ok());
    ASSERT_TRUE(Process(log->get(), false).ok());
    fs::copy(Dir("live"), Dir("running"), fs::copy_options::recursive);
    ASSERT_TRUE(Append(log->get(), input_, half + 10, input_.size()).ok());
    ASSERT_TRUE(Process(log->get(), true).ok());
    auto events = Events(log->get());
    ASSERT_TRUE(events.ok()) << events.status();
    expected_ = *std::move(events);
    ASSERT_GE(expected_.size(), 10U);
    log->reset();
    fs::copy(Dir("live"), Dir("finished"), fs::copy_options::recursive);
  }

  std::string Dir(std::string_view name) const { return Cat(root_, "/", name); }

  static std::string Slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  static void Spill(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  // Returns the kind of a file. All segments of a topic partition have the same kind.
  static std::string Kind(const std::string& relative) {
    if (StartsWith(relative, "commits/")) {
      return EndsWith(relative, ".journal") ? "commits/*.journal" : relative;
    }
    if (EndsWith(relative, ".seg")) return relative.substr(0, relative.rfind('/')) + "/*.seg";
    return relative;
  }

  enum class Outcome { kEqual, kRefused };
  // Opens the damaged directory and resumes. Fails the test unless the events are equal, or the log
  // refuses to open with a message that includes the fix.
  void Judge(const std::string& cell, bool running, std::map<Outcome, int>* outcomes) {
    auto log = log::OpenEmbeddedLog(Options(Dir("cell")), &clock_);
    if (!log.ok()) {
      const std::string message(log.status().message());
      EXPECT_NE(message.find("pitwall log repair"), std::string::npos) << cell << ": " << message;
      ++(*outcomes)[Outcome::kRefused];
      JudgeRepair(cell);
      if (Contains(cell, ".journal")) JudgeRepeats(cell, running);
      return;
    }
    Finish(cell, running, log->get());
    ++(*outcomes)[Outcome::kEqual];
  }
  static bool Contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  }
  // Appends the rest of the input and processes it. The events must equal those of the undamaged
  // log.
  void Finish(const std::string& cell, bool running, Log* log) {
    const auto reader = log->OpenReader({std::string(kTelemetryTopic), 0}, kFromEnd);
    ASSERT_TRUE(reader.ok()) << cell << ": " << reader.status();
    const auto at = static_cast<size_t>((*reader)->position());
    ASSERT_TRUE(running || at == input_.size()) << cell << ": telemetry ends at " << at;
    const Status appended = Append(log, input_, at, input_.size());
    ASSERT_TRUE(appended.ok()) << cell << ": " << appended;
    const Status processed = Process(log, true);
    ASSERT_TRUE(processed.ok()) << cell << ": " << processed;
    const auto events = Events(log);
    ASSERT_TRUE(events.ok()) << cell << ": " << events.status();
    EXPECT_TRUE(*events == expected_) << cell << ": " << events->size() << " events, expected the "
                                      << expected_.size() << " of the undamaged log";
  }
  // A repaired journal has older positions. No event may be repeated or different. If no position
  // is left, the processor must report that and include the fix.
  void JudgeRepeats(const std::string& cell, bool running) {
    auto log = log::OpenEmbeddedLog(Options(Dir("cell")), &clock_);
    ASSERT_TRUE(log.ok()) << cell << ": " << log.status();
    const auto committed =
        (*log)->Committed(processor::PartitionOptions().group, {std::string(kTelemetryTopic), 0});
    ASSERT_TRUE(committed.ok()) << cell << ": " << committed.status();
    if (committed->has_value()) {
      Finish(cell, running, log->get());
      ++continued_;
      return;
    }
    const Status processed = Process(log->get(), false);
    if (processed.ok()) return Finish(cell, running, log->get());
    EXPECT_TRUE(Contains(std::string(processed.message()), "--accept-log-reset"))
        << cell << ": " << processed;
  }
  // The suggested fix must work and report everything that it dropped.
  void JudgeRepair(const std::string& cell) {
    const auto repaired =
        log::RepairLog(Dir("cell"), false, &clock_, {processor::OutputsOfTelemetry()});
    ASSERT_TRUE(repaired.ok()) << cell << ": " << repaired.status();
    const auto check = log::CheckLog(Dir("cell"));
    ASSERT_TRUE(check.ok()) << cell << ": " << check.status();
    EXPECT_TRUE(check->startable())
        << cell << ": " << check->reports[0].place << ": " << check->reports[0].message;
    const auto log = log::OpenEmbeddedLog(Options(Dir("cell")), &clock_);
    ASSERT_TRUE(log.ok()) << cell << ": " << log.status();
    for (const std::string& topic : (*log)->Topics()) {
      const auto config = (*log)->Config(topic);
      auto reader = (*log)->OpenReader({topic, 0}, kFromStart);
      ASSERT_TRUE(reader.ok()) << cell << ": " << reader.status();
      int64_t next = (*reader)->position();
      const int64_t end = *(*reader)->EndOffset();
      while (next < end) {
        std::vector<Record> records;
        const Status polled = (*reader)->Poll(1000, 8 << 20, Duration::Zero(), &records);
        if (polled.ok()) {
          ASSERT_FALSE(records.empty() && (*reader)->position() < end) << cell;
          for (const Record& record : records) {
            EXPECT_TRUE(config->compacted || record.offset == next)
                << cell << ": a silent gap in " << topic << " before " << record.offset;
            next = record.offset + 1;
          }
        }
        next = (*reader)->position();
      }
    }
  }

  clock::SystemClock clock_;
  std::string root_;
  std::vector<ScriptRecord> input_;
  std::vector<std::string> expected_;
  int continued_ = 0;  // number of journals that continued after a repair
};

TEST_F(DamageMatrix, DamagedFile_EventsAreEqualOrLogIsRefused) {
  const char* const seed_text = ::getenv("PITWALL_DAMAGE_SEED");
  const uint32_t seed =
      seed_text != nullptr ? static_cast<uint32_t>(std::atoll(seed_text)) : std::random_device()();
  const bool whole = ::getenv("PITWALL_DAMAGE_LONG") != nullptr;
  std::fprintf(stderr, "damage_matrix_test: PITWALL_DAMAGE_SEED=%u%s\n", seed,
               whole ? ", complete matrix" : "");
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  RecordJob();
  if (HasFatalFailure()) return;

  for (const bool running : {true, false}) {
    const std::string origin = Dir(running ? "running" : "finished");
    std::map<std::string, std::vector<std::string>> kinds;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(origin)) {
      if (!entry.is_regular_file()) continue;
      const std::string relative = entry.path().string().substr(origin.size() + 1);
      kinds[Kind(relative)].push_back(relative);
    }
    ASSERT_GE(kinds.size(), 12U);
    for (auto& [kind, files] : kinds) {
      std::sort(files.begin(), files.end());
      std::map<Outcome, int> outcomes;
      const auto cell = [&](const std::string& name, const std::string& what,
                            const std::function<void(const std::string&)>& damage) {
        fs::remove_all(Dir("cell"));
        fs::copy(origin, Dir("cell"), fs::copy_options::recursive);
        damage(Dir("cell") + "/" + name);
        Judge(Cat(running ? "running" : "finished", " job, ", name, ", ", what), running,
              &outcomes);
      };
      // Only the first and the last file are damaged unless the matrix is complete.
      std::vector<std::string> chosen = files;
      if (!whole && files.size() > 2) chosen = {files.front(), files.back()};
      for (const std::string& name : chosen) {
        const std::string content = Slurp(origin + "/" + name);
        cell(name, "deleted", [](const std::string& path) { fs::remove(path); });
        cell(name, "zeroed",
             [&](const std::string& path) { Spill(path, std::string(content.size(), '\0')); });
        for (int i = 0; i < (whole ? 8 : 2) && !content.empty(); ++i) {
          const size_t size = random() % content.size();
          cell(name, Cat("cut to ", size),
               [&](const std::string& path) { Spill(path, content.substr(0, size)); });
        }
        for (int i = 0; i < (whole ? kFlips : 4) && !content.empty(); ++i) {
          // The flips are spread over the file, so that they hit the header, body, and tail.
          const size_t stretch = content.size() / kFlips + 1;
          const size_t slot = whole ? static_cast<size_t>(i) : random() % kFlips;
          const size_t byte = std::min(slot * stretch + random() % stretch, content.size() - 1);
          const int bit = static_cast<int>(random() % 8);
          cell(name, Cat("bit ", bit, " of byte ", byte, " of ", content.size()),
               [&](const std::string& path) {
                 std::string damaged = content;
                 damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
                 Spill(path, damaged);
               });
        }
        if (HasFatalFailure()) return;
      }
      std::fprintf(stderr, "  %-8s %-32s %4d equal %4d refused\n", running ? "running" : "finished",
                   kind.c_str(), outcomes[Outcome::kEqual], outcomes[Outcome::kRefused]);
    }
  }
}

// Tests a cleanly stopped log with its journal truncated at each tenth of its length. The repair
// must drop the events that the processor recreates.
TEST_F(DamageMatrix, TruncatedJournalDoesNotRepeatEvents) {
  RecordJob();
  if (HasFatalFailure()) return;
  const std::string origin = Dir("finished");
  std::string name;
  for (const fs::directory_entry& entry : fs::directory_iterator(origin + "/commits")) {
    if (entry.path().extension() == ".journal")
      name = "commits/" + entry.path().filename().string();
  }
  const std::string content = Slurp(Cat(origin, "/", name));
  for (size_t tenth = 1; tenth < 10; ++tenth) {
    fs::remove_all(Dir("cell"));
    fs::copy(origin, Dir("cell"), fs::copy_options::recursive);
    Spill(Cat(Dir("cell"), "/", name), content.substr(0, content.size() * tenth / 10));
    std::map<Outcome, int> outcomes;
    Judge(Cat("finished job, ", name, ", cut to ", tenth, " tenths"), false, &outcomes);
    if (HasFatalFailure()) return;
    EXPECT_EQ(outcomes[Outcome::kRefused], 1) << tenth;
  }
  EXPECT_GE(continued_, 5);
}

}  // namespace
}  // namespace pitwall::scenarios
