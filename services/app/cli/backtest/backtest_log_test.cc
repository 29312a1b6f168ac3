// Tests for `pitwall backtest --format log` on truncated or corrupt logs (issue 10, A8).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/command/command.h"
#include "services/app/host/roles/followed_rules.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/topics.h"
#include "services/processor/processor.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/forwarding_log.h"
#include "tests/telemetry_script/log_append.h"

namespace pitwall {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRules[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: m > 0.5}
)rules";

class BacktestLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pitwall-backtest-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    options_.dir = pattern;
    options_.compress = false;
    options_.segment_bytes = 1500;
    options_.background = false;
    Record();
  }
  void TearDown() override { std::filesystem::remove_all(options_.dir); }

  // Runs a live processor for 20 seconds.
  void Record() {
    auto log = OpenLog();
    ASSERT_NE(log, nullptr);
    Owner owner(this, log.get());
    for (int second = 0; second < 20; ++second) {
      Append(log.get(), second);
      clock_.Advance(kNanosPerSecond);
      owner.Run(4);
    }
    owner.Finish();
  }
  std::unique_ptr<log::EmbeddedLog> OpenLog() {
    auto log = log::OpenEmbeddedLog(options_, &clock_);
    EXPECT_TRUE(log.ok()) << log.status();
    if (!log.ok()) return nullptr;
    const Status topics = processor::EnsureTopics(log->get(), {.telemetry_partitions = 1});
    EXPECT_TRUE(topics.ok()) << topics;
    return *std::move(log);
  }
  void Append(Log* log, int second) {
    const auto records =
        sources_.Play(second % 10 < 5 ? "n sends m=1" : "n sends m=0", clock_.WallNs());
    ASSERT_TRUE(telemetry_script::AppendTo(log, 0, records).ok());
  }
  // Processor that owns the only partition and evaluates the rules in kRules.
  class Owner {
   public:
    Owner(BacktestLogTest* test, Log* log)
        : rules_(log), processor_(0, &test->clock_, log, &rules_, {}) {
      const auto compiled = engine::CompiledRules::Accept({.files = {{"pack.yaml", kRules}}});
      EXPECT_TRUE(compiled.ok()) << compiled.status();
      const Status published = rules_.Publish(*compiled);
      EXPECT_TRUE(published.ok()) << published;
      processor_.WantRules((*compiled)->hash());
      EXPECT_TRUE(processor_.Recover().ok());
    }
    void Run(int rounds) {
      for (int round = 0; round < rounds; ++round)
        EXPECT_TRUE(processor_.RunOnce(Duration::Zero()).ok());
    }
    void Finish() { EXPECT_TRUE(processor_.Finish().ok()); }

   private:
    processor::RuleSets rules_;
    processor::PartitionProcessor processor_;
  };
  struct Verdict {
    int code = -1;
    std::string text;
  };
  Verdict Verify() {
    const auto flags = Flags::Parse(BacktestFlags(), {"--input", options_.dir, "--verify"});
    EXPECT_TRUE(flags.ok()) << flags.status();
    testing::internal::CaptureStdout();
    const StatusOr<int> code = VerifyLog(*flags);
    Verdict verdict{code.ok() ? *code : kUsage, testing::internal::GetCapturedStdout()};
    EXPECT_TRUE(code.ok()) << code.status();
    return verdict;
  }

  fakes::FakeClock clock_;
  log::EmbeddedLogOptions options_;
  telemetry_script::ScriptedSources sources_;
};

TEST_F(BacktestLogTest, VerifyLog_CompleteLog_IsIdentical) {
  const Verdict verdict = Verify();
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr("bit-identical"));
}

// Log with a processor that commits more events while the backtest verifies the log.
class LiveLog final : public fakes::ForwardingLog {
 public:
  LiveLog(Log* log, std::function<void()> run) : ForwardingLog(log), run_(std::move(run)) {}
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    if (at.topic == kIssuesTopic) run_();
    return ForwardingLog::OpenReader(at, from);
  }

 private:
  const std::function<void()> run_;
};

TEST_F(BacktestLogTest, VerifyLog_ProcessorRunning_VerifiesUpToCommit) {
  auto log = OpenLog();
  ASSERT_NE(log, nullptr);
  Owner owner(this, log.get());
  LiveLog live(log.get(), [&] {
    for (int second = 20; second < 40; ++second) {
      Append(log.get(), second);
      clock_.Advance(kNanosPerSecond);
      owner.Run(4);
    }
  });
  testing::internal::CaptureStdout();
  const StatusOr<int> code = VerifyLog(&live);
  const std::string text = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, kFine) << text;
  EXPECT_THAT(text, HasSubstr("later events are not verified because a processor is running"));
}

TEST_F(BacktestLogTest, VerifyLog_RecordsBeforeFirstProcessor_AreEvaluated) {
  std::filesystem::remove_all(options_.dir);
  {
    auto log = OpenLog();
    ASSERT_NE(log, nullptr);
    for (int second = 0; second < 20; ++second) {
      Append(log.get(), second);
      clock_.Advance(kNanosPerSecond);
    }
    Owner owner(this, log.get());
    for (int second = 20; second < 24; ++second) {
      clock_.Advance(kNanosPerSecond);
      owner.Run(4);
    }
    owner.Finish();
    Owner(this, log.get()).Run(4);  // events must also be complete after a restart
    const auto reader = log->OpenReader({std::string(kIssuesTopic), 0}, kFromStart);
    ASSERT_TRUE(reader.ok());
    std::vector<pitwall::Record> records;
    ASSERT_TRUE((*reader)->Poll(1000, 1 << 20, Duration::Zero(), &records).ok());
    const auto found = std::ranges::count_if(records, [](const pitwall::Record& record) {
      return record.value.find("io.pitwall.issue.found") != std::string::npos;
    });
    EXPECT_EQ(found, 2);
  }
  const Verdict verdict = Verify();
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
}

TEST_F(BacktestLogTest, Output_ReplayedLog_PassesVerification) {
  const std::string copy = options_.dir + ".replayed";
  const auto replay = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--input", options_.dir, "--output", copy};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto flags = Flags::Parse(BacktestFlags(), arguments);
    EXPECT_TRUE(flags.ok()) << flags.status();
    BacktestRange range;
    return Replay(*flags, &range, nullptr);
  };
  const auto events = replay({});
  ASSERT_TRUE(events.ok()) << events.status();
  const auto again = replay({});
  EXPECT_FALSE(again.ok());
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("must be new or empty"));
  const Verdict verdict = [&] {
    const std::string source = std::exchange(options_.dir, copy);
    const Verdict of_copy = Verify();
    options_.dir = source;
    return of_copy;
  }();
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr(Cat(events->size(), " events: live")));
  std::filesystem::remove_all(copy);
}

TEST_F(BacktestLogTest, Output_NewRules_AreActiveInReplayedLog) {
  const std::string copy = options_.dir + ".replayed", rules = options_.dir + "/other.yaml";
  std::ofstream(rules) << "groups:\n- name: other\n  interval: 1s\n  rules:\n"
                          "  - {alert: Low, expr: m < 0.5}\n";
  const auto flags =
      Flags::Parse(BacktestFlags(), {"--input", options_.dir, "--rules", rules, "--output", copy});
  ASSERT_TRUE(flags.ok()) << flags.status();
  BacktestRange range;
  const auto events = Replay(*flags, &range, nullptr);
  ASSERT_TRUE(events.ok()) << events.status();
  const std::string source = std::exchange(options_.dir, copy);
  const Verdict verdict = Verify();
  options_.dir = source;
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr(Cat(events->size(), " events: live")));
  clock_.Advance(kNanosPerSecond);
  log::EmbeddedLogOptions options;
  options.dir = copy + "/log";
  options.read_only = true;
  const auto log = log::OpenEmbeddedLog(options, &clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  FollowedRules followed(&clock_, log->get());
  const engine::CompiledRulesPtr in_force = followed.Get();
  ASSERT_NE(in_force, nullptr);
  EXPECT_THAT(in_force->text().files[0].text, HasSubstr("alert: Low"));
  std::filesystem::remove_all(copy);
}

TEST_F(BacktestLogTest, VerifyLog_AfterRetention_ReportsStartOfLog) {
  {
    clock_.Advance(8LL * 24 * 3600 * kNanosPerSecond);
    auto log = log::OpenEmbeddedLog(options_, &clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    // After a wall-clock jump of this size, retention waits another day before it accepts the new
    // time.
    clock_.Advance(25LL * 3600 * kNanosPerSecond);
    ASSERT_TRUE((*log)->ApplyRetention().ok());
    const auto reader = (*log)->OpenReader({std::string(kTelemetryTopic), 0}, kFromStart);
    ASSERT_GT(*(*reader)->StartOffset(), 0);
  }
  const Verdict verdict = Verify();
  EXPECT_EQ(verdict.code, kCheckFailed);
  EXPECT_THAT(verdict.text, HasSubstr("partition 0: log starts at offset"));
  EXPECT_THAT(verdict.text, Not(HasSubstr("differs")));
}

TEST_F(BacktestLogTest, Backtest_CorruptRuleSet_ContinuesAndReports) {
  const std::string dir = Cat(options_.dir, "/topics/", kRulesTopic, "/0");
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().extension() != ".seg") continue;
    std::stringstream content;
    content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    std::string bytes = content.str();
    const size_t at = bytes.find("alert: High");
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 'A';
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  const Verdict verdict = Verify();
  EXPECT_EQ(verdict.code, kCheckFailed);
  EXPECT_THAT(verdict.text, HasSubstr("not verified: pitwall.rules: rule set"));
  EXPECT_THAT(verdict.text, Not(HasSubstr("differs")));
  const auto flags = Flags::Parse(BacktestFlags(), {"--input", options_.dir});
  BacktestRange range;
  const auto events = BacktestLog(*flags, &range, nullptr);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(range.damage.size(), 1U);
  EXPECT_THAT(range.damage[0], HasSubstr("without rules"));
}

}  // namespace
}  // namespace pitwall
