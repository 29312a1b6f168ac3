#include "rules/plan/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSummary[] = R"(run: resnet-1
job: "resnet@2026-11-20"
ended: 1763800000.5
match: {job: "resnet*", config: 7f3a}
series:
- {name: train_tensor_mean, mode: train, labels: {tensor: fc1, rank: "0"}, points: "0:1.25 100:-1.5e-3"}
- {name: train_loss, mode: train, points: "0:2 50:NaN 100:1"}
- {name: "train_step:seconds", labels: {rank: "0"}, value: 0.35}
)";

std::string ErrorsOf(std::string_view text) {
  lang::Diagnostics diagnostics;
  ParseBaseline("run.yaml", text, &diagnostics);
  std::string out;
  for (const lang::Diagnostic& d : diagnostics.list()) CatTo(out, d.Header(), "\n");
  return out;
}

TEST(Baseline, ParsesSeriesOfRun) {
  lang::Diagnostics diagnostics;
  const BaselinePtr baseline = ParseBaseline("run.yaml", kSummary, &diagnostics);
  EXPECT_EQ(diagnostics.ToString(), "");
  EXPECT_EQ(baseline->run, "resnet-1");
  EXPECT_EQ(baseline->ended, 1763800000.5);
  ASSERT_EQ(baseline->values.size(), 1U);
  EXPECT_EQ(baseline->values[0].first.ToString(),
            "baseline_train_step:seconds{rank=\"0\",run=\"resnet-1\"}");
  EXPECT_EQ(baseline->values[0].second, 0.35);
  EXPECT_EQ(baseline->StepsOf("eval"), nullptr);
  const Baseline::Steps* steps = baseline->StepsOf("train");
  ASSERT_NE(steps, nullptr);
  std::vector<std::string> points;
  for (const Baseline::Point& p : steps->points)
    points.push_back(Cat(p.step, " ", steps->series[p.series].ToString(), " ", p.value));
  EXPECT_THAT(
      points,
      ElementsAre("0 baseline_train_tensor_mean{mode=\"train\",rank=\"0\",run=\"resnet-1\","
                  "tensor=\"fc1\"} 1.25",
                  "0 baseline_train_loss{mode=\"train\",run=\"resnet-1\"} 2",
                  "50 baseline_train_loss{mode=\"train\",run=\"resnet-1\"} nan",
                  "100 baseline_train_tensor_mean{mode=\"train\",rank=\"0\",run=\"resnet-1\","
                  "tensor=\"fc1\"} -0.0015",
                  "100 baseline_train_loss{mode=\"train\",run=\"resnet-1\"} 1"));
  EXPECT_TRUE(baseline->Has("baseline_train_loss"));
  EXPECT_TRUE(baseline->Has("baseline_train_step:seconds"));
  EXPECT_FALSE(baseline->Has("train_loss"));
}

TEST(Baseline, ReportsErrorsWithPositions) {
  EXPECT_THAT(ErrorsOf("run: a\nmatch: {job: x}\nserie: []\n"),
              HasSubstr("run.yaml:3:1: error: unknown key \"serie\""));
  EXPECT_THAT(ErrorsOf("match: {job: x}\n"), HasSubstr("a summary needs \"run\""));
  EXPECT_THAT(ErrorsOf("run: a\n"), HasSubstr("a summary needs \"match\""));
  EXPECT_THAT(ErrorsOf("run: [\n"), HasSubstr("run.yaml:"));
  EXPECT_THAT(ErrorsOf("run: a\nmatch: {job: x}\n"), HasSubstr("a summary needs \"series\""));
  EXPECT_THAT(ErrorsOf("run: a\nmatch: {job: x}\nended: .nan\nseries: []\n"),
              HasSubstr("run.yaml:3:1: error: \"ended\" must be"));
  const auto of_series = [](std::string_view series) {
    return ErrorsOf(Cat("run: a\nmatch: {job: x}\nseries:\n- ", series, "\n"));
  };
  EXPECT_THAT(of_series("{name: a b, value: 1}"),
              HasSubstr("run.yaml:4:4: error: \"name\": \"a b\" is not a metric name"));
  EXPECT_THAT(of_series("{name: a}"), HasSubstr("either \"points\" or \"value\""));
  EXPECT_THAT(of_series("{name: a, mode: train, value: 1, points: '0:1'}"),
              HasSubstr("either \"points\" or \"value\""));
  EXPECT_THAT(of_series("{name: a, points: '0:1'}"), HasSubstr("which need it"));
  EXPECT_THAT(of_series("{name: a, mode: train, value: 1}"), HasSubstr("which need it"));
  EXPECT_THAT(of_series("{name: a, mode: train, points: '0:1 x'}"),
              HasSubstr("\"points\": \"x\" is not step:value"));
  EXPECT_THAT(of_series("{name: a, mode: train, points: '-1:1'}"), HasSubstr("is not step:value"));
  EXPECT_THAT(of_series("{name: a, mode: train, points: '5:1 5:2'}"),
              HasSubstr("step 5 comes after step 5"));
  EXPECT_THAT(of_series("{name: a, mode: train, points: ' '}"), HasSubstr("value is missing"));
  EXPECT_THAT(of_series("{name: a, value: 1}\n- {name: a, value: 2}"),
              HasSubstr("run.yaml:5:3: error: series baseline_a{run=\"a\"} appears twice"));
}

StatusOr<ProgramPtr> Compile(std::vector<RuleSetFile> baselines) {
  return CompileRuleSet(
      {.files = {{"p.yaml", "groups: [{name: g, rules: [{alert: A, expr: m > 1}]}]\n"}},
       .baselines = std::move(baselines)});
}

std::string Of(std::string_view run, int ended, std::string_view match) {
  return Cat("run: ", run, "\nended: ", ended, "\nmatch: ", match, "\nseries: []\n");
}

std::vector<std::string> RunsFor(const Program& program, std::string_view id, std::string_view name,
                                 const Labels& labels) {
  std::vector<std::string> runs;
  for (const BaselinePtr& baseline : BaselinesFor(program, id, name, labels))
    runs.push_back(baseline->run);
  return runs;
}

TEST(Baseline, UsesLatestRunsOfSameJob) {
  std::vector<RuleSetFile> files;
  for (int i = 0; i < 8; ++i)
    files.push_back({Cat(i, ".yaml"), Of(Cat("run-", i), 100 + i, "{job: resnet*, config: a}")});
  files.push_back({"b.yaml", Of("other", 999, "{job: resnet*, config: b}")});
  const auto program = Compile(files);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(RunsFor(**program, "id", "resnet-9", {{"config", "a"}}),
              ElementsAre("run-7", "run-6", "run-5", "run-4", "run-3"));
  EXPECT_THAT(RunsFor(**program, "resnet@1", "", {{"config", "b"}}), ElementsAre("other"));
  EXPECT_THAT(RunsFor(**program, "id", "resnet-9", {}), IsEmpty());
  EXPECT_THAT(RunsFor(**program, "id", "bert", {{"config", "a"}}), IsEmpty());
}

TEST(Baseline, SummaryIsPartOfRuleSet) {
  const auto none = Compile({});
  const auto one = Compile({{"a.yaml", Of("a", 1, "{job: x}")}});
  const auto later = Compile({{"a.yaml", Of("a", 2, "{job: x}")}});
  ASSERT_TRUE(none.ok() && one.ok() && later.ok());
  EXPECT_NE((*none)->hash, (*one)->hash);
  EXPECT_NE((*one)->hash, (*later)->hash);
  const auto twice =
      Compile({{"a.yaml", Of("a", 1, "{job: x}")}, {"b.yaml", Of("a", 2, "{job: y}")}});
  EXPECT_THAT(std::string(twice.status().message()),
              HasSubstr("b.yaml: error: run \"a\" is a duplicate; it is in a.yaml"));
  EXPECT_THAT(std::string(Compile({{"a.yaml", "run: a\n"}}).status().message()),
              HasSubstr("a.yaml:1:1: error: a summary needs \"match\""));
}

}  // namespace
}  // namespace pitwall::plan
