#include "services/offline/backtest/backtest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kBase = engine::ShardForTest::kBase;
constexpr uint32_t kSeed = 42;

constexpr std::string_view kRules = R"(
groups:
- name: g
  interval: 10s
  rules:
  - alert: High
    expr: x > 5
    for: 20s
  - alert: Busy
    expr: avg_over_time(x[40s]) > 7
  - alert: Gone
    expr: absent(y)
)";

struct Given {
  Labels labels;
  // Pairs of (seconds after kBase, value).
  std::vector<std::pair<double, double>> samples;
};

class Backtest {
 public:
  explicit Backtest(int64_t from = kMinPosition, int64_t to = kMaxPosition, size_t memory = 1 << 20)
      : recording_(from, to, {}, memory) {}

  Backtest& Input(const std::string& name, const std::vector<Given>& all) {
    recording_.BeginInput(name, name);
    uint32_t line = 0;
    for (uint32_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(recording_.AddSeries(i, all[i].labels).ok());
      for (const auto& [seconds, value] : all[i].samples) {
        EXPECT_TRUE(recording_.AddSample(i, engine::ShardForTest::At(seconds), value, ++line).ok());
      }
    }
    return *this;
  }

  StatusOr<std::vector<std::string>> Run(std::string_view rules, BacktestOptions options = {}) {
    EXPECT_TRUE(recording_.Finish().ok());
    std::vector<IssueEvent> events;
    RETURN_IF_ERROR(
        RunBacktest(&recording_, engine::CompiledForTest(rules), options, &counters_, &events));
    SortEvents(&events);
    std::vector<std::string> out;
    for (const IssueEvent& e : events) {
      if (e.type == EventType::kRuleStatus || e.type == EventType::kJobChanged) continue;
      const std::string_view type = EventTypeName(e.type);
      out.push_back(Cat((e.time.ns() - kBase) / kSecond, " ", e.job, " ",
                        type.substr(type.rfind('.') + 1), " ", e.alert, " ",
                        EndReasonName(e.end_reason)));
    }
    return out;
  }
  uint64_t dropped() const {
    uint64_t all = 0;
    for (const uint64_t n : counters_.drops) all += n;
    return all;
  }

 private:
  Recording recording_;
  engine::EngineCounters counters_;
};

Given Series(Labels labels, double from, double to, double every, double value) {
  Given given{std::move(labels), {}};
  for (double at = from; at <= to; at += every) given.samples.emplace_back(at, value);
  return given;
}

Given Peak(std::string_view job = "") {
  Given x{Labels({{"__name__", "x"}, {kJobLabel, job}}), {}};
  for (int at = 0; at <= 200; at += 5) x.samples.emplace_back(at, at >= 50 && at < 120 ? 9 : 1);
  return x;
}

TEST(Backtest, EvaluatesUpToLastSampleAndLeavesIssuesOpen) {
  Backtest test;
  test.Input("a", {Peak(), Series({{"__name__", "y"}}, 0, 200, 5, 1)});
  EXPECT_THAT(*test.Run(kRules),
              ElementsAre("70 a found High ", "80 a found Busy ", "120 a resolved High cleared",
                          "130 a resolved Busy cleared"));
  EXPECT_EQ(test.dropped(), 0U);

  Backtest open;
  open.Input("a", {Series({{"__name__", "x"}}, 0, 100, 5, 9)});
  EXPECT_THAT(*open.Run(kRules),
              ElementsAre("0 a found Busy ", "0 a found Gone ", "20 a found High "));
}

// Returns the events from a recording, without status events and job changes. Expects that no
// sample is dropped.
std::vector<IssueEvent> IssuesOf(Recording* recording, std::string_view rules) {
  EXPECT_TRUE(recording->Finish().ok());
  engine::EngineCounters counters;
  std::vector<IssueEvent> events;
  const Status done =
      RunBacktest(recording, engine::CompiledForTest(rules), {}, &counters, &events);
  EXPECT_TRUE(done.ok()) << done;
  for (const uint64_t n : counters.drops) EXPECT_EQ(n, 0U);
  std::erase_if(events, [](const IssueEvent& e) {
    return e.type == EventType::kRuleStatus || e.type == EventType::kJobChanged;
  });
  SortEvents(&events);
  return events;
}

std::vector<std::string> EndsOfSteps(Recording* recording, std::string_view rules) {
  std::vector<std::string> out;
  for (const IssueEvent& e : IssuesOf(recording, rules)) {
    out.push_back(
        Cat(e.step, " ", EventTypeName(e.type).substr(17), " ", EndReasonName(e.end_reason)));
  }
  return out;
}

// Returns the losses of one rank. Steps are `every` seconds apart, starting at `from`.
struct StepsOf {
  std::string rank;
  double from;
  double every;
  int64_t first_step;
  std::vector<double> losses;
};

std::vector<std::string> RunSteps(const std::vector<StepsOf>& ranks, std::string_view rules) {
  Recording recording;
  recording.BeginInput("log", "a");
  uint32_t line = 0;
  for (uint32_t i = 0; i < ranks.size(); ++i) {
    const StepsOf& r = ranks[i];
    EXPECT_TRUE(
        recording.AddSeries(i, {{"__name__", "train_loss"}, {"rank", r.rank}}, "train").ok());
    for (size_t n = 0; n < r.losses.size(); ++n) {
      const auto at = engine::ShardForTest::At(r.from + static_cast<double>(n) * r.every);
      EXPECT_TRUE(
          recording.AddSample(i, at, r.losses[n], ++line, r.first_step + static_cast<int64_t>(n))
              .ok());
    }
  }
  std::vector<std::string> out;
  for (const IssueEvent& e : IssuesOf(&recording, rules)) {
    const std::string_view type = EventTypeName(e.type);
    out.push_back(Cat((e.time.ns() - kBase) / kSecond, " step ", e.step, " ",
                      type.substr(type.rfind('.') + 1), " ", e.alert, e.labels.Get("rank")));
  }
  return out;
}

// Returns a rule file with the given rules in one group on the step clock.
std::string StepRules(std::string_view rules) {
  return Cat("groups:\n- name: s\n  clock: step\n  interval: 1\n  rules:\n", rules);
}

TEST(Backtest, StepClockWaitsForAllRanks) {
  const std::string rules = StepRules(R"(
  - alert: High
    expr: train_loss > 5
    for: 2
  - alert: Apart
    expr: max(train_loss) - min(train_loss) > 5
)");
  // Rank 1 completes each step one second later than rank 0 and has one fewer step.
  EXPECT_THAT(
      RunSteps({{"0", 0, 10, 100, {1, 9, 9, 9, 1, 1}}, {"1", 1, 10, 100, {1, 1, 9, 1, 1}}}, rules),
      ElementsAre("11 step 101 found Apart", "21 step 102 resolved Apart",
                  "31 step 103 found Apart", "31 step 103 found High0",
                  "41 step 104 resolved Apart", "41 step 104 resolved High0"));
}

// The first row is evaluated at its own step, regardless of the distance to the next row.
TEST(Backtest, StepsWithStride_FirstRowIsEvaluatedAtItsStep) {
  for (const int64_t stride : {1, 10, 100, 1'000}) {
    for (const int64_t first : {int64_t{0}, stride}) {
      SCOPED_TRACE(Cat("stride ", stride, ", first ", first));
      Recording recording;
      recording.BeginInput("log", "job");
      ASSERT_TRUE(recording.AddSeries(0, Labels({{kMetricName, "loss"}}), "train").ok());
      for (int64_t i = 0; i < 5; ++i)
        ASSERT_TRUE(recording
                        .AddSample(0, kBase + (first + i * stride) * kSecond, i == 0 ? 9.0 : 1.0, 1,
                                   first + i * stride)
                        .ok());
      ASSERT_TRUE(recording.Finish().ok());
      engine::EngineCounters counters;
      std::vector<IssueEvent> events;
      ASSERT_TRUE(RunBacktest(&recording,
                              engine::CompiledForTest("groups:\n- name: g\n  clock: step\n"
                                                      "  mode: train\n  interval: 1\n  rules:\n"
                                                      "  - {alert: High, expr: loss > 5}\n"),
                              {}, &counters, &events)
                      .ok());
      const auto found = std::find_if(events.begin(), events.end(), [](const IssueEvent& event) {
        return event.type == EventType::kIssueFound;
      });
      ASSERT_NE(found, events.end());
      EXPECT_EQ(found->step, first);
      EXPECT_EQ(found->time.ns(), kBase + first * kSecond);
    }
  }
}

TEST(Backtest, InputWithEndedRanksDoesNotDelayOthers) {
  const std::string rules = StepRules(R"(
  - alert: High
    expr: train_loss > 5
)");
  // Each rank has its own input file. Rank 1 ends at step 2. Rank 0 falls back to step 3 and
  // continues.
  Recording recording;
  uint32_t line = 0;
  const auto add = [&](std::string_view rank, const std::vector<std::pair<int64_t, double>>& all) {
    recording.BeginInput(Cat("rank", rank), "a");
    ASSERT_TRUE(recording.AddSeries(0, {{"__name__", "train_loss"}, {"rank", rank}}, "train").ok());
    int at = 0;
    for (const auto& [step, loss] : all) {
      ASSERT_TRUE(recording.AddSample(0, engine::ShardForTest::At(++at), loss, ++line, step).ok());
    }
  };
  add("0", {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 9}, {5, 1}, {3, 1}, {4, 1}, {5, 9}, {6, 1}});
  add("1", {{0, 1}, {1, 1}, {2, 1}});
  EXPECT_THAT(EndsOfSteps(&recording, rules),
              ElementsAre("4 found ", "5 resolved cleared", "5 found ", "6 resolved cleared"));
}

TEST(Backtest, StepGoesBack_StartsNewAttempt) {
  const std::string rules = StepRules(R"(
  - alert: High
    expr: sum_over_time(train_loss[3]) > 5
)");
  Recording recording;
  recording.BeginInput("log", "a");
  ASSERT_TRUE(recording.AddSeries(0, {{"__name__", "train_loss"}, {"rank", "0"}}, "train").ok());
  uint32_t line = 0;
  for (const auto& [step, loss] : std::vector<std::pair<int64_t, double>>{
           {10, 1}, {11, 3}, {12, 3}, {13, 3}, {11, 1}, {12, 1}, {13, 9}, {14, 1}}) {
    ++line;
    ASSERT_TRUE(recording.AddSample(0, engine::ShardForTest::At(line), loss, line, step).ok());
  }
  EXPECT_THAT(EndsOfSteps(&recording, rules),
              ElementsAre("12 found ", "13 resolved attempt_ended", "13 found "));
}

TEST(Backtest, EndJobsOption_ResolvesOpenIssues) {
  Backtest test;
  test.Input(
      "a", {Series({{"__name__", "x"}}, 0, 103, 1, 9), Series({{"__name__", "y"}}, 0, 103, 1, 1)});
  EXPECT_THAT(*test.Run(kRules, {.end_jobs = true}),
              ElementsAre("0 a found Busy ", "20 a found High ", "103 a resolved Busy job_ended",
                          "103 a resolved High job_ended"));
}

TEST(Backtest, JobSpansFirstToLastSample) {
  Backtest test;
  std::vector<Given> all = {Peak("one"),
                            Series({{"__name__", "y"}, {kJobLabel, "one"}}, 0, 200, 5, 1)};
  all.push_back(Series({{"__name__", "x"}, {kJobLabel, "two"}}, 60, 100, 5, 9));
  all.push_back(Series({{"__name__", "y"}}, 95, 300, 5, 1));
  test.Input("file", all);
  EXPECT_THAT(*test.Run(kRules),
              ElementsAre("60 two found Busy ", "60 two found Gone ", "70 one found High ",
                          "80 one found Busy ", "80 two found High ",
                          "120 one resolved High cleared", "130 one resolved Busy cleared"));
}

TEST(Backtest, MergesInputsByTimeAndIgnoresEndedInputs) {
  // One input ends early. If two inputs have different values for a series at the same time, the
  // value from the first input is used.
  Backtest test;
  test.Input("a", {Peak()});
  test.Input("b", {Series({{"__name__", "y"}, {kJobLabel, "a"}}, 0, 30, 5, 1),
                   Series({{"__name__", "x"}, {kJobLabel, "a"}}, 0, 200, 5, 100)});
  EXPECT_THAT(*test.Run(kRules),
              ElementsAre("70 a found High ", "80 a found Busy ", "120 a resolved High cleared",
                          "130 a resolved Busy cleared"));
}

TEST(Backtest, EvaluatesFromStartWithFilledWindows) {
  Backtest test;
  test.Input("a", {Peak(), Series({{"__name__", "y"}}, 0, 200, 5, 1)});
  // The window is already full at the first tick, so the `for` duration starts at that tick.
  EXPECT_THAT(*test.Run(kRules, {.start = engine::ShardForTest::At(100)}),
              ElementsAre("100 a found Busy ", "130 a resolved Busy cleared"));
  EXPECT_EQ(test.dropped(), 0U);

  Backtest ends(kMinPosition, engine::ShardForTest::At(75));
  ends.Input("a", {Peak(), Series({{"__name__", "y"}}, 0, 200, 5, 1)});
  EXPECT_THAT(*ends.Run(kRules, {.start = engine::ShardForTest::At(30)}),
              ElementsAre("70 a found High "));

  Backtest nothing;
  nothing.Input("a", {Peak()});
  EXPECT_THAT(*nothing.Run(kRules, {.start = engine::ShardForTest::At(1000)}), IsEmpty());
}

TEST(Backtest, ComputesRequiredHistoryOfRules) {
  EXPECT_GE(HistoryOf(*engine::CompiledForTest(kRules)), 300 * kSecond);
  EXPECT_LT(HistoryOf(*engine::CompiledForTest(kRules)), 7200 * kSecond);
  EXPECT_GE(
      HistoryOf(*engine::CompiledForTest(
          "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'avg_over_time(x[500 samples])'}\n")),
      int64_t{500} * 300 * kSecond);
  EXPECT_EQ(
      HistoryOf(*engine::CompiledForTest(
          "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'avg_over_time(x[attempt])'}\n")),
      kMaxPosition);
}

TEST(Backtest, ResultDoesNotDependOnBatchSizeOrSampleOrder) {
  // The input spans several batches. Each series has different sample times, and the samples are in
  // random order.
  std::mt19937 random(kSeed);
  std::vector<Given> all;
  for (int i = 0; i < 40; ++i) {
    Given x{Labels({{"__name__", "x"}, {"i", Cat(i)}}), {}};
    for (double at = i * 0.01; at < 4000; at += 1 + (i % 3))
      x.samples.emplace_back(at, static_cast<double>(random() % 10));
    all.push_back(std::move(x));
  }
  Backtest ordered;
  ordered.Input("a", all);
  const std::vector<std::string> expected = *ordered.Run(kRules);
  EXPECT_GT(expected.size(), 100U);
  std::shuffle(all.begin(), all.end(), random);
  for (Given& series : all) std::shuffle(series.samples.begin(), series.samples.end(), random);
  // The low memory limit moves some samples to disk.
  Backtest shuffled(kMinPosition, kMaxPosition, 5000);
  shuffled.Input("a", all);
  EXPECT_EQ(*shuffled.Run(kRules), expected) << "seed " << kSeed;
  EXPECT_EQ(shuffled.dropped(), 0U);
}

TEST(Backtest, RejectsDifferentValuesAtSameTime) {
  Backtest same;
  same.Input("a", {{{{"__name__", "x"}}, {{1, 2}, {1, 2}}}});
  EXPECT_TRUE(same.Run(kRules).ok());
  Backtest other;
  other.Input("a", {{{{"__name__", "x"}}, {{1, 2}, {3, 3}, {1, 3}}}});
  EXPECT_THAT(std::string(other.Run(kRules).status().message()),
              HasSubstr("a:3:1: x has a different value at this time on line 1"));
}

TEST(Backtest, SupportsTimesAtUnixEpoch) {
  Recording recording;
  recording.BeginInput("a", "job");
  ASSERT_TRUE(recording.AddSeries(0, {{"__name__", "x"}}).ok());
  for (int64_t at = 0; at <= 60; at += 5)
    ASSERT_TRUE(recording.AddSample(0, at * kSecond, 9, static_cast<uint32_t>(at) + 1).ok());
  ASSERT_TRUE(recording.Finish().ok());
  engine::EngineCounters counters;
  std::vector<IssueEvent> events;
  ASSERT_TRUE(
      RunBacktest(&recording, engine::CompiledForTest(kRules), {}, &counters, &events).ok());
  std::erase_if(events, [](const IssueEvent& e) {
    return e.alert != "Gone" || e.type != EventType::kIssueFound;
  });
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].time, EventTime());
  EXPECT_EQ(events[0].job_name, "job");
}

TEST(Recording, RejectsReservedJobNames) {
  Recording recording;
  recording.BeginInput("a", "a");
  EXPECT_THAT(
      std::string(recording.AddSeries(0, {{"__name__", "x"}, {kJobLabel, "__state"}}).message()),
      HasSubstr("must not start with __"));
}

TEST(Recording, ControlCharacters_AreEscapedInValuesAndRejectedInNames) {
  Recording recording;
  recording.BeginInput("a.om", "a");
  EXPECT_TRUE(recording.AddSeries(0, {{"__name__", "x"}, {"zone", "\x1b[2J\xc2\x9b"}}).ok());
  EXPECT_EQ(recording.series()[0].labels.Get("zone"), "\\x1b[2J\\u009b");
  EXPECT_THAT(std::string(recording.AddSeries(1, {{"__name__", "x\x7f"}}).message()),
              HasSubstr("a.om: name \"x\\\\x7f\" must not contain control characters"));
}

}  // namespace
}  // namespace pitwall::offline
