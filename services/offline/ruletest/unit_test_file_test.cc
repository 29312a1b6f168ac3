#include "services/offline/ruletest/unit_test_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/model/position.h"
#include "services/model/value.h"

namespace pitwall::offline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

UnitTestFile Parse(std::string_view text) {
  auto file = ParseUnitTestFile("t.yaml", text);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : UnitTestFile();
}

std::string Wrong(std::string_view text) {
  const auto file = ParseUnitTestFile("t.yaml", text);
  return file.ok() ? "nothing" : std::string(ToStd(file.status().message()));
}

// Returns a test file with one test and one expected sample.
std::string Value(std::string_view value) {
  return Cat("tests:\n- promql_expr_test:\n  - {expr: x, exp_samples: [{value: ", value, "}]}\n");
}

TEST(UnitTestFileTest, ParsesEveryKey) {
  const UnitTestFile file = Parse(R"(
rule_files: [a.yaml, 'b*.yaml']
evaluation_interval: 30s
group_eval_order: [g, f]
fuzzy_compare: true
tests:
- name: all
  interval: 10s
  start_timestamp: 2024-01-01T00:00:00.5Z
  input_series:
  - {series: 'x{a="b"}', values: '1+2x1 _ stale'}
  alert_rule_test:
  - eval_time: 1m
    alertname: A
    exp_alerts:
    - exp_labels: {z: 1, a: ''}
      exp_annotations: {t: u, s: v}
    - exp_labels: {}
  promql_expr_test:
  - expr: x + 1
    eval_time: 90s
    exp_samples: [{labels: 'x{a="b"}', value: 2}, {value: 3}]
  external_labels: {cluster: c}
  external_url: http://x
)");
  EXPECT_THAT(file.rule_files, ElementsAre("a.yaml", "b*.yaml"));
  EXPECT_EQ(file.evaluation_interval, 30 * kStepUnit);
  EXPECT_THAT(file.group_eval_order, ElementsAre("g", "f"));
  EXPECT_TRUE(file.fuzzy_compare);
  ASSERT_EQ(file.tests.size(), 1U);
  const UnitTest& test = file.tests[0];
  EXPECT_EQ(test.name, "all");
  EXPECT_EQ(test.interval, 10 * kStepUnit);
  EXPECT_EQ(test.start, 1704067200 * kStepUnit + kStepUnit / 2);
  ASSERT_EQ(test.series.size(), 1U);
  ASSERT_EQ(test.series[0].values.size(), 4U);
  EXPECT_EQ(test.series[0].values[1], 3);
  EXPECT_EQ(test.series[0].values[2], std::nullopt);
  EXPECT_TRUE(IsStale(*test.series[0].values[3]));
  ASSERT_EQ(test.alerts.size(), 1U);
  ASSERT_EQ(test.alerts[0].expected.size(), 2U);
  EXPECT_THAT(test.alerts[0].expected[0].labels,
              ElementsAre(Label{"a", ""}, Label{"alertname", "A"}, Label{"z", "1"}));
  EXPECT_THAT(*test.alerts[0].expected[0].annotations, ElementsAre(Pair("s", "v"), Pair("t", "u")));
  EXPECT_FALSE(test.alerts[0].expected[1].annotations.has_value());
  ASSERT_EQ(test.exprs.size(), 1U);
  EXPECT_EQ(test.exprs[0].eval_time, 90 * kStepUnit);
  EXPECT_EQ(test.exprs[0].expected[0].labels, (Labels{{"__name__", "x"}, {"a", "b"}}));
  EXPECT_EQ(test.exprs[0].expected[1].value, 3);
  EXPECT_THAT(test.external_labels, ElementsAre(Pair("cluster", "c")));
  EXPECT_EQ(test.external_url, "http://x");
}

TEST(UnitTestFileTest, AppliesDefaults) {
  EXPECT_EQ(Parse("").evaluation_interval, 60 * kStepUnit);
  const UnitTestFile file = Parse("evaluation_interval: 20s\ntests: [{}, {interval: 0}]\n");
  ASSERT_EQ(file.tests.size(), 2U);
  EXPECT_EQ(file.tests[0].interval, 20 * kStepUnit);
  EXPECT_EQ(file.tests[1].interval, 20 * kStepUnit);
  EXPECT_EQ(file.tests[0].start, 0);
}

TEST(UnitTestFileTest, ParsesNumbersLikeGoYaml) {
  const auto value = [](std::string_view text) {
    return Parse(Value(text)).tests.at(0).exprs.at(0).expected.at(0).value;
  };
  EXPECT_EQ(value("0x10"), 16);
  EXPECT_EQ(value("-0b11"), -3);
  EXPECT_EQ(value("010"), 8);
  EXPECT_EQ(value("1_000.5"), 1000.5);
  EXPECT_EQ(value("0"), 0);
  EXPECT_EQ(value("08"), 8);
  EXPECT_EQ(value("09.5"), 9.5);
  EXPECT_EQ(value("-1e3"), -1000);
  EXPECT_EQ(value("-.Inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value(".nan")));
  for (const std::string_view text : {"NaN", "Inf", "'1'", "one", "[1]", "0x", "1e"})
    EXPECT_THAT(Wrong(Value(text)), HasSubstr("must be a number")) << text;
}

TEST(UnitTestFileTest, EachErrorHasPosition) {
  EXPECT_THAT(Wrong("rule_fils: []\n"), HasSubstr("t.yaml:1:1"));
  EXPECT_THAT(Wrong("tests:\n- {intervall: 1m}\n"), HasSubstr("t.yaml:2:4"));
  EXPECT_THAT(Wrong("group_eval_order: [a, b, a]\n"), HasSubstr("\"a\" is repeated"));
  EXPECT_THAT(Wrong("tests:\n- alert_rule_test: [{eval_time: 1m}]\n"), HasSubstr("t.yaml:2:21"));
  EXPECT_THAT(Wrong("tests:\n- start_timestamp: soon\n"), HasSubstr("t.yaml:2:3"));
  EXPECT_THAT(Wrong("tests:\n- input_series: [{series: 'x{', values: 1}]\n"),
              HasSubstr("t.yaml:2:19"));
  EXPECT_THAT(Wrong("tests:\n- input_series: [{series: x, values: '1+'}]\n"),
              HasSubstr("t.yaml:2"));
  EXPECT_THAT(Wrong("tests: {}\n"), HasSubstr("must be a list"));
}

TEST(UnitTestFileTest, RejectsNativeHistograms) {
  EXPECT_THAT(Wrong("tests:\n- input_series: [{series: x, values: '{{count:1}}x3'}]\n"),
              HasSubstr("native histograms are not supported"));
  EXPECT_THAT(Wrong("tests:\n- promql_expr_test:\n  - {expr: x, exp_samples: [{histogram: "
                    "'{{count:1}}'}]}\n"),
              HasSubstr("native histograms are not supported"));
}

// Promtool also splits the values at line breaks.
TEST(UnitTestFileTest, LineBreakInValuesStartsNewSeries) {
  const UnitTestFile file = Parse(R"(
tests:
- input_series:
  - {series: x, values: "1 2\ny 3"}
  - {series: x, values: 7}
  - {series: z, values: "1\n"}
  - {series: never, values: "read}"}
)");
  const auto& series = file.tests.at(0).series;
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0].values, std::vector<std::optional<double>>{7});  // uses the last definition
  EXPECT_EQ(series[1].labels.Name(), "y");
  EXPECT_EQ(series[2].labels.Name(), "z");
}

TEST(UnitTestFileTest, ParsesStepClock) {
  const UnitTestFile file =
      Parse("tests:\n- {clock: step, alert_rule_test: [{alertname: A, eval_time: 7}]}\n");
  EXPECT_TRUE(file.tests.at(0).step);
  EXPECT_EQ(file.tests[0].mode, "train");
  EXPECT_EQ(file.tests[0].alerts.at(0).eval_time, StepPosition(7));
  EXPECT_THAT(Wrong("tests:\n- {clock: step, promql_expr_test: []}\n"), HasSubstr("time clock"));
  EXPECT_THAT(Wrong("tests:\n- {clock: step, interval: 1s}\n"), HasSubstr("at each step"));
}

TEST(UnitTestFileTest, ParsesAttempts) {
  EXPECT_THAT(Parse("tests:\n- attempts: [60s, 1m30s]\n").tests.at(0).attempts,
              ElementsAre(60 * kStepUnit, 90 * kStepUnit));
  EXPECT_THAT(Parse("tests:\n- {clock: step, attempts: [7, 12]}\n").tests.at(0).attempts,
              ElementsAre(StepPosition(7), StepPosition(12)));
  EXPECT_THAT(Parse("tests: [{}]\n").tests.at(0).attempts, testing::IsEmpty());
  EXPECT_THAT(Wrong("tests:\n- attempts: 60s\n"),
              HasSubstr("t.yaml:2:13: attempts must be a list"));
  EXPECT_THAT(Wrong("tests:\n- attempts: [60s, soon]\n"), HasSubstr("t.yaml:2:19: attempts: "));
  EXPECT_THAT(Wrong("tests:\n- attempts: [0]\n"), HasSubstr("t.yaml:2:14: attempts must be after"));
  EXPECT_THAT(Wrong("tests:\n- attempts: [60s, 60s]\n"),
              HasSubstr("t.yaml:2:19: attempts must be in ascending order"));
  EXPECT_THAT(Wrong("tests:\n- {clock: step, attempts: [60s]}\n"),
              HasSubstr("t.yaml:2:28: attempts on the step clock must be a step, not \"60s\""));
  EXPECT_THAT(Wrong("tests:\n- {clock: step, attempts: [[]]}\n"), HasSubstr("t.yaml:2:28"));
}

TEST(UnitTestFileTest, ParsesStatuses) {
  const UnitTestFile file = Parse(R"(
tests:
- status_test:
  - {eval_time: 30s, alertname: A, status: NoData, reason: no series of x}
  - {alertname: B, labels: {severity: critical}, status: IssuesFound}
- clock: step
  status_test: [{eval_time: 30, alertname: A, status: Error}]
)");
  const auto& statuses = file.tests.at(0).statuses;
  ASSERT_EQ(statuses.size(), 2U);
  EXPECT_EQ(statuses[0].eval_time, 30 * kStepUnit);
  EXPECT_EQ(statuses[0].alert, "A");
  EXPECT_EQ(statuses[0].status, RuleStatus::kNoData);
  EXPECT_EQ(statuses[0].reason, "no series of x");
  EXPECT_EQ(statuses[0].position.line, 4);
  EXPECT_EQ(statuses[1].status, RuleStatus::kIssuesFound);
  EXPECT_EQ(statuses[1].reason, std::nullopt);
  EXPECT_THAT(statuses[1].labels, ElementsAre(Pair("severity", "critical")));
  EXPECT_EQ(file.tests.at(1).statuses.at(0).eval_time, StepPosition(30));

  const auto wrong = [](std::string_view entry) {
    return Wrong(Cat("tests:\n- status_test: [", entry, "]\n"));
  };
  EXPECT_THAT(wrong("{status: NoData}"),
              HasSubstr("t.yaml:2:17: status_test requires an alertname"));
  EXPECT_THAT(wrong("{alertname: A}"), HasSubstr("t.yaml:2:17: status must be NoData, "));
  EXPECT_THAT(
      wrong("{alertname: A, status: Fine}"),
      HasSubstr("t.yaml:2:32: status must be NoData, InProgress, NoIssuesFound, IssuesFound, "
                "or Error, not \"Fine\""));
  // Stopped is impossible because the job has active ranks, and Unknown applies only before the
  // first tick.
  for (const std::string_view status : {"Stopped", "Unknown"})
    EXPECT_THAT(wrong(Cat("{alertname: A, status: ", status, "}")), HasSubstr("t.yaml:2:32"));
  EXPECT_THAT(wrong("{alertname: A, status: NoData, reson: x}"), HasSubstr("t.yaml:2:48"));
  EXPECT_THAT(wrong("{alertname: A, status: NoData, eval_time: x}"), HasSubstr("t.yaml:2:"));
}

}  // namespace
}  // namespace pitwall::offline
