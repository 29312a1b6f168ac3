// `pitwall backtest --format log` over a log that retention or damage has been at (issue 10, A8).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "services/adapters/log/embedded_log.h"
#include "services/base/strings.h"
#include "services/codec/telemetry_codec.h"
#include "services/pipeline/topics.h"
#include "services/pitwall/backtest_formats.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/followed_rules.h"
#include "services/processor/processor.h"
#include "tests/fakes/fake_clock.h"

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

  // A live run of some seconds.
  void Record() {
    auto log = log::OpenEmbeddedLog(options_, &clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(processor::EnsureTopics(log->get(), {.telemetry_partitions = 1}).ok());
    processor::RuleSets rules(log->get());
    const auto compiled = engine::CompiledRules::Accept({.files = {{"pack.yaml", kRules}}});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const Status published = rules.Publish(*compiled);
    ASSERT_TRUE(published.ok()) << published;
    processor::PartitionProcessor owner(0, &clock_, log->get(), &rules, {});
    owner.WantRules((*compiled)->hash());
    ASSERT_TRUE(owner.Recover().ok());
    const auto appender = (*log)->OpenAppender();
    for (int second = 0; second < 20; ++second) {
      ASSERT_TRUE((*appender)
                      ->Append({{.topic = std::string(kTelemetryTopic),
                                 .partition = 0,
                                 .key = "job",
                                 .value = Sample(second % 10 < 5 ? 1 : 0)}})
                      .ok());
      clock_.Advance(kNanosPerSecond);
      for (int round = 0; round < 4; ++round) ASSERT_TRUE(owner.RunOnce(0).ok());
    }
    ASSERT_TRUE(owner.Finish().ok());
  }
  std::string Sample(double value) {
    Schema schema;
    schema.series.push_back({Labels({{kMetricName, "m"}}), SeriesKind::kGauge});
    schema.id = SchemaId(0, schema.series);
    const int64_t now[] = {clock_.WallNs()};
    const double values[] = {value};
    Batch batch;
    batch.job = "job";
    batch.source = "n";
    batch.boot_id = "b";
    batch.sequence = ++sequence_;
    batch.info.start_ns = now[0];
    batch.promise_ns = now[0];
    batch.schemas.push_back(schema);
    batch.frames.push_back({.schema_id = schema.id, .times_ns = now, .values = values});
    std::string bytes;
    codec::BatchEncoder().Encode(batch, &bytes);
    return bytes;
  }
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
  uint64_t sequence_ = 0;
};

TEST_F(BacktestLogTest, AWholeLogIsEqual) {
  const Verdict verdict = Verify();
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr("equal to the bit"));
}

TEST_F(BacktestLogTest, AReplayedLogIsOneThatCouldHaveBeenLive) {
  const std::string copy = options_.dir + ".replayed";
  const auto replay = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--input", options_.dir, "--output", copy};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto flags = Flags::Parse(BacktestFlags(), arguments);
    EXPECT_TRUE(flags.ok()) << flags.status();
    BacktestRange range;
    return Replay(*flags, &range, nullptr);
  };
  const auto told = replay({});
  ASSERT_TRUE(told.ok()) << told.status();
  const auto again = replay({});
  EXPECT_FALSE(again.ok());
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("not empty"));
  const Verdict verdict = [&] {
    const std::string source = std::exchange(options_.dir, copy);
    const Verdict of_copy = Verify();
    options_.dir = source;
    return of_copy;
  }();
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr(Cat(told->size(), " events, live")));
  std::filesystem::remove_all(copy);
}

TEST_F(BacktestLogTest, AReplayedLogHasTheRulesThatJudgedIt) {
  const std::string copy = options_.dir + ".replayed", rules = options_.dir + "/other.yaml";
  std::ofstream(rules) << "groups:\n- name: other\n  interval: 1s\n  rules:\n"
                          "  - {alert: Low, expr: m < 0.5}\n";
  const auto flags =
      Flags::Parse(BacktestFlags(), {"--input", options_.dir, "--rules", rules, "--output", copy});
  ASSERT_TRUE(flags.ok()) << flags.status();
  BacktestRange range;
  const auto told = Replay(*flags, &range, nullptr);
  ASSERT_TRUE(told.ok()) << told.status();
  const std::string source = std::exchange(options_.dir, copy);
  const Verdict verdict = Verify();
  options_.dir = source;
  EXPECT_EQ(verdict.code, kFine) << verdict.text;
  EXPECT_THAT(verdict.text, HasSubstr(Cat(told->size(), " events, live")));
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

TEST_F(BacktestLogTest, VerifyAfterRetentionSaysWhereTheLogBegins) {
  {
    clock_.Advance(8LL * 24 * 3600 * kNanosPerSecond);
    auto log = log::OpenEmbeddedLog(options_, &clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    // A wall clock that far ahead is believed after a day.
    clock_.Advance(25LL * 3600 * kNanosPerSecond);
    ASSERT_TRUE((*log)->ApplyRetention().ok());
    const auto reader = (*log)->OpenReader({std::string(kTelemetryTopic), 0}, kFromStart);
    ASSERT_GT(*(*reader)->StartOffset(), 0);
  }
  const Verdict verdict = Verify();
  EXPECT_EQ(verdict.code, kCheckFailed);
  EXPECT_THAT(verdict.text, HasSubstr("partition 0: the log begins at offset"));
  EXPECT_THAT(verdict.text, Not(HasSubstr("differs")));
}

TEST_F(BacktestLogTest, ADamagedRuleSetDoesNotStopABacktestAndIsReported) {
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
