#include "services/offline/ruletest/unit_test_expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/base/yaml/format.h"
#include "services/offline/ruletest/unit_test_variables.h"

namespace pitwall::offline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using yaml::Node;
using yaml::Problem;

// Returns the expanded file, or the problems.
std::string Expand(std::string_view text) {
  const auto root = yaml::ParseYaml("t.yaml", text);
  EXPECT_TRUE(root.ok()) << root.status();
  std::vector<Problem> problems;
  const Node expanded = ExpandUnitTests(root.ok() ? *root : Node(), &problems);
  if (problems.empty()) return yaml::FormatYaml(expanded);
  return std::string(ToStd(yaml::ToStatus(*root, problems).message()));
}

// Returns the expansion of a test with these input series, or the problems.
std::string Series(std::string_view entries, std::string_view fixtures = "") {
  return Expand(Cat(fixtures, "tests:\n- input_series:\n", entries));
}

std::string Alerts(std::string_view entries, std::string_view head = "") {
  return Expand(Cat(head, "tests:\n- alert_rule_test:\n", entries));
}

TEST(UnitTestExpandTest, LeavesPrometheusFilesUnchanged) {
  const std::string_view text = R"(rule_files:
- a.yaml
tests:
- name: "costs $rank, $$ and ${x}"
  input_series:
  - series: "x{path=\"$1\"}"
    values: "1 2"
  - series: "x{path=\"$1\"}"
    values: "3"
  alert_rule_test:
  - eval_time: 1m
    alertname: A
    exp_alerts:
    - exp_labels:
        a: b
      exp_annotations:
        summary: "$5"
)";
  EXPECT_EQ(Expand(text), text);
}

TEST(UnitTestExpandTest, RepeatsSeriesForEachCombination) {
  EXPECT_EQ(Series(R"(
  - {series: 'x{rank="$rank",id="r-${rank}x",phase="$phase"}', for: {rank: 0..1, phase: [f, b]}, values: '1'}
)"),
            R"(tests:
- input_series:
  - series: "x{rank=\"0\",id=\"r-0x\",phase=\"f\"}"
    values: "1"
  - series: "x{rank=\"0\",id=\"r-0x\",phase=\"b\"}"
    values: "1"
  - series: "x{rank=\"1\",id=\"r-1x\",phase=\"f\"}"
    values: "1"
  - series: "x{rank=\"1\",id=\"r-1x\",phase=\"b\"}"
    values: "1"
)");
}

TEST(UnitTestExpandTest, RepeatsSeriesForEachRow) {
  const std::string text = Series(R"(
  - {series: 'x{rank="$rank"}', for: [{rank: [0, 2..3], v: 5}, {rank: 1, v: 7}], values: '${v}x9'}
)");
  EXPECT_THAT(text, AllOf(HasSubstr("rank=\\\"0\\\"}\"\n    values: \"5x9\""),
                          HasSubstr("rank=\\\"3\\\"}\"\n    values: \"5x9\""),
                          HasSubstr("rank=\\\"1\\\"}\"\n    values: \"7x9\"")));
  EXPECT_THAT(Series("  - {series: 'x{a=\"$a$$\"}', for: {a: 1}, values: 1}\n"),
              HasSubstr("x{a=\\\"1$\\\"}"));
  EXPECT_THAT(Series("  - {series: 'x{a=\"$a\"}', for: {a: ['0..1']}, values: 1}\n"),
              HasSubstr("x{a=\\\"0..1\\\"}"));
}

TEST(UnitTestExpandTest, RepeatsGroupsOfValues) {
  const auto values = [](std::string_view text) {
    return Series(Cat("  - {series: x, values: '", text, "'}\n"));
  };
  EXPECT_THAT(values("1 (2 _x3)*2 4"), HasSubstr("values: \"1 2 _x3 2 _x3 4\""));
  EXPECT_THAT(values("( 1 )*3 (2)*2"), HasSubstr("values: \"1 1 1 2 2\""));
  EXPECT_THAT(Series("  - {series: x, for: {n: 2}, values: '($n 1)*$n'}\n"),
              HasSubstr("values: \"2 1 2 1\""));
  for (const std::string_view text : {"(1 2", "(1 2)", "(1 2)x3", "(1)*1", "(1)*10001", "()*2",
                                      "((1)*2)*2", "(1)*2.5", "(1)*2(1)*2", "1(2)*2", "(1)*"}) {
    EXPECT_THAT(values(text),
                HasSubstr("t.yaml:3:25: a group of values must be (VALUES)*COUNT with "
                          "a count from 2 to 10000 (got \"("))
        << text;
  }
  EXPECT_THAT(values(Cat("(", std::string(1000, '1'), ")*2000")),
              HasSubstr("t.yaml:3:25: the values are longer than 1048576 bytes without groups; "
                        "lower the count (got 2000)"));
}

TEST(UnitTestExpandTest, InsertsFixtures) {
  const std::string_view fixtures = R"(fixtures:
  base:
  - {series: up, values: 1}
  ranks:
  - {series: 'x{rank="$rank",phase="$phase"}', for: {phase: [f, b]}, values: '1'}
)";
  EXPECT_EQ(Series("  - {fixture: base}\n  - {fixture: ranks, for: {rank: 0..1}}\n", fixtures),
            R"(tests:
- input_series:
  - series: up
    values: 1
  - series: "x{rank=\"0\",phase=\"f\"}"
    values: "1"
  - series: "x{rank=\"0\",phase=\"b\"}"
    values: "1"
  - series: "x{rank=\"1\",phase=\"f\"}"
    values: "1"
  - series: "x{rank=\"1\",phase=\"b\"}"
    values: "1"
)");
}

TEST(UnitTestExpandTest, ReplacesOneSeries) {
  const std::string_view each = "  - {series: 'x{r=\"$r\",b=\"1\"}', for: {r: 0..1}, values: 1}\n";
  EXPECT_EQ(Series(Cat(each, "  - {series: 'x{b=\"1\", r=\"0\"}', values: 2, replace: true}\n")),
            R"(tests:
- input_series:
  - series: "x{b=\"1\", r=\"0\"}"
    values: 2
  - series: "x{r=\"1\",b=\"1\"}"
    values: 1
)");
  EXPECT_THAT(Series(Cat(each, "  - {series: 'x{r=\"2\"}', values: 2, replace: true}\n")),
              AllOf(HasSubstr("t.yaml:4:5"), HasSubstr("no series to replace (x{r=\"2\"})")));
  EXPECT_THAT(Series(Cat(each, "  - {series: 'x{b=\"1\",r=\"0\"}', values: 2}\n")),
              AllOf(HasSubstr("t.yaml:4:5"), HasSubstr("already defined"),
                    HasSubstr("write replace: true")));
  EXPECT_THAT(Series(Cat("  - {series: 'x{b=\"1\",r=\"0\"}', values: 2}\n", each)),
              HasSubstr("already defined"));
  const std::string again = Series(Cat(each, "  - {series: 'x{b=\"1\",r=\"0\"}', values: 1}\n"));
  EXPECT_EQ(again, Series(each));
  EXPECT_THAT(Series(Cat(each, "  - {series: 'x{b=\"1\",r=\"0\"}', values: 2, replace: 1}\n")),
              HasSubstr("replace must be true"));
}

TEST(UnitTestExpandTest, RepeatsCasesForTimesAndAlerts) {
  EXPECT_EQ(Alerts("  - {eval_time: [1m, 2m], alertname: [A, B]}\n"), R"(tests:
- alert_rule_test:
  - eval_time: 1m
    alertname: A
  - eval_time: 1m
    alertname: B
  - eval_time: 2m
    alertname: A
  - eval_time: 2m
    alertname: B
)");
  EXPECT_THAT(Alerts("  - {eval_time: [], alertname: A}\n"),
              HasSubstr("eval_time must not be an empty list"));
}

TEST(UnitTestExpandTest, MovesStatusesAndAddsLabels) {
  EXPECT_EQ(Alerts(R"(
  - eval_time: 1m
    alertname: A
    status: IssuesFound
    exp_alerts:
    - {exp_labels: {rank: $rank, severity: info}, for: {rank: 0..1}}
    - {}
)",
                   "alert_labels: {A: {severity: warning, category: c}}\n"),
            R"(tests:
- alert_rule_test:
  - eval_time: 1m
    alertname: A
    exp_alerts:
    - exp_labels:
        rank: 0
        severity: info
        category: c
    - exp_labels:
        rank: 1
        severity: info
        category: c
    - exp_labels:
        severity: warning
        category: c
  status_test:
  - eval_time: 1m
    alertname: A
    status: IssuesFound
)");
}

TEST(UnitTestExpandTest, SilentAtAddsCasesWithoutAlerts) {
  EXPECT_EQ(Alerts(R"(
  - {silent_at: [1m, 2m], alertname: [A, B]}
  - {silent_at: 3m, eval_time: 4m, alertname: A, status: NoData, exp_alerts: [{}]}
)",
                   "alert_labels: {A: {severity: info}}\n"),
            R"(tests:
- alert_rule_test:
  - eval_time: 1m
    alertname: A
  - eval_time: 1m
    alertname: B
  - eval_time: 2m
    alertname: A
  - eval_time: 2m
    alertname: B
  - eval_time: 3m
    alertname: A
  - eval_time: 4m
    alertname: A
    exp_alerts:
    - exp_labels:
        severity: info
  status_test:
  - eval_time: 4m
    alertname: A
    status: NoData
)");
}

TEST(UnitTestExpandTest, CaseLabelsAreThoseOfItsOnlyAlert) {
  const std::string_view labels = "alert_labels: {A: {severity: info}}\n";
  EXPECT_EQ(Alerts(R"(
  - {eval_time: 1m, alertname: A, exp_labels: {rank: "0"}, exp_annotations: {summary: s}}
  - {eval_time: 2m, alertname: A, exp_labels: {}}
)",
                   labels),
            Alerts(R"(
  - {eval_time: 1m, alertname: A, exp_alerts: [{exp_labels: {rank: "0"}, exp_annotations: {summary: s}}]}
  - {eval_time: 2m, alertname: A, exp_alerts: [{exp_labels: {}}]}
)",
                   labels));
}

TEST(UnitTestExpandTest, TestNameHasAlertOfCasesWithoutOne) {
  EXPECT_EQ(Expand(R"(
alert_in_name: true
tests:
- name: '$alert: fires'
  for: {alert: [A]}
  alert_rule_test: [{silent_at: 1m}, {eval_time: 2m, alertname: B}]
  status_test: [{status: NoData}]
  promql_expr_test: [{expr: x}]
- name: fires A
  alert_rule_test: [{eval_time: 1m}]
)"),
            R"(tests:
- name: "A: fires"
  alert_rule_test:
  - eval_time: 1m
    alertname: A
  - eval_time: 2m
    alertname: B
  status_test:
  - status: NoData
    alertname: A
  promql_expr_test:
  - expr: x
- name: "fires A"
  alert_rule_test:
  - eval_time: 1m
)");
  EXPECT_THAT(Expand("tests:\n- {name: 'A: x', alert_rule_test: [{eval_time: 1m}]}\n"),
              Not(HasSubstr("alertname")));
}

TEST(UnitTestExpandTest, ErrorsOfAlertCasesHavePositionAndCause) {
  EXPECT_THAT(Alerts("  - {silent_at: [], alertname: A}\n"),
              HasSubstr("t.yaml:3:17: silent_at must be a time or a list of times, not an empty"));
  EXPECT_THAT(Alerts("  - {silent_at: {a: b}, alertname: A}\n"),
              HasSubstr("t.yaml:3:17: silent_at must be a time or a list of times, not a map"));
  EXPECT_THAT(Alerts("  - {silent_at: [1m, 2m], eval_time: 2m, alertname: A}\n"),
              HasSubstr("t.yaml:3:22: a time is in eval_time and silent_at (2m); remove one"));
  EXPECT_THAT(Alerts("  - {silent_at: 1m, alertname: A, status: NoData}\n"),
              HasSubstr("t.yaml:3:35: status does not apply to the times of silent_at; write it "
                        "with an eval_time"));
  EXPECT_THAT(Alerts("  - {eval_time: 1m, alertname: A, exp_labels: {}, exp_alerts: []}\n"),
              HasSubstr("t.yaml:3:35: a case has exp_labels and exp_alerts; write it in an entry"));
  EXPECT_THAT(Expand("alert_in_name: no\ntests: []\n"),
              HasSubstr("t.yaml:1:16: alert_in_name must be true or absent"));
}

TEST(UnitTestExpandTest, RepeatsTests) {
  EXPECT_EQ(Expand(R"(
tests:
- name: '$alert: no data'
  for: [{alert: A, metric: m}, {alert: B, metric: n}]
  attempts: [5]
  input_series:
  - {series: '$metric{r="$r"}', for: {r: [7]}, values: 1}
  alert_rule_test:
  - {eval_time: 1m, alertname: $alert}
)"),
            R"(tests:
- name: "A: no data"
  attempts:
  - 5
  input_series:
  - series: "m{r=\"7\"}"
    values: 1
  alert_rule_test:
  - eval_time: 1m
    alertname: A
- name: "B: no data"
  attempts:
  - 5
  input_series:
  - series: "n{r=\"7\"}"
    values: 1
  alert_rule_test:
  - eval_time: 1m
    alertname: B
)");
}

TEST(UnitTestExpandTest, FixturesHaveOnlyTheirVariables) {
  const std::string_view test =
      "tests:\n- name: $r\n  for: {r: 7, s: 8}\n  input_series:\n  - {fixture: f, for: {";
  const std::string_view fixture = "fixtures: {f: [{series: 'x{r=\"$r\"}', values: 1}]}\n";
  EXPECT_THAT(Expand(Cat(fixture, test, "r: '$s$r'}}\n")), HasSubstr("x{r=\\\"87\\\"}"));
  EXPECT_THAT(Expand(Cat(fixture, test, "t: $s}}\n")),
              AllOf(HasSubstr("t.yaml:1:25: no for sets the variable $r"),
                    HasSubstr("does not use the variable \"t\"")));
}

TEST(UnitTestExpandTest, AppliesDefaultsOfTheFile) {
  EXPECT_EQ(Expand("clock: step\ntests: [{name: a}, {name: b, interval: 5s}, {clock: time}]\n"),
            R"(tests:
- name: a
  clock: step
- name: b
  interval: 5s
- clock: time
)");
  EXPECT_EQ(Expand("interval: 1s\ntests: [{name: a}, {interval: 5s}, {clock: step}]\n"),
            R"(tests:
- name: a
  interval: 1s
- interval: 5s
- clock: step
)");
}

TEST(UnitTestExpandTest, EachErrorHasPositionAndCause) {
  EXPECT_THAT(Series("  - {fixture: bose}\n", "fixtures: {base: []}\n"),
              AllOf(HasSubstr("t.yaml:4:15: no fixture has the name \"bose\" (did you mean"),
                    HasSubstr("t.yaml:1:12: no test uses the fixture \"base\"; remove it")));
  EXPECT_THAT(Series("  - {fixture: f, values: 1}\n", "fixtures: {f: []}\n"),
              HasSubstr("t.yaml:4:18: an entry with fixture must not have the key \"values\""));
  EXPECT_THAT(Series("  - {fixture: f}\n", "fixtures: {f: [{fixture: f}]}\n"),
              HasSubstr("t.yaml:1:16: fixture \"f\" must not use another fixture"));
  EXPECT_THAT(Series("  - {fixture: f}\n", "fixtures: {f: [{series: 'x{r=\"$r\"}', values: 1}]}\n"),
              HasSubstr("t.yaml:1:25: no for sets the variable $r"));
  EXPECT_THAT(Series("  - {fixture: f}\n", "fixtures: {f: {series: x}}\n"),
              HasSubstr("a fixture must be a list of series, not a map"));
  EXPECT_THAT(Series("", "fixtures: [f]\n"), HasSubstr("fixtures must be a map, not a list"));
  EXPECT_THAT(Series("  - {series: 'x', for: {r: 0..1}, values: 1}\n"),
              HasSubstr("t.yaml:3:19: the entry does not use the variable \"r\""));
  EXPECT_THAT(Series("  - {series: 'x{r=\"$r\"}', for: {s: 0..1}, values: '$s'}\n"),
              HasSubstr("no for sets the variable $r"));
  EXPECT_THAT(Series("  - {series: '$r', for: {r: []}, values: 1}\n"),
              HasSubstr("for has no values"));
  EXPECT_THAT(Series("  - {series: '$r', for: 3, values: 1}\n"), HasSubstr("for must be a map"));
  EXPECT_THAT(Series("  - {series: '$r', for: {r: {}}, values: 1}\n"),
              HasSubstr("a variable's value must be a string, not a map"));
  EXPECT_THAT(Series("  - {series: '$r', for: {'1 2': 3}, values: 1}\n"),
              HasSubstr("\"1 2\" is not a name of a variable"));
  EXPECT_THAT(Alerts("  - {eval_time: 1m, alertname: A}\n", "alert_labels: {B: {a: b}, A: c}\n"),
              AllOf(HasSubstr("no test expects the alert \"B\"; remove it"),
                    HasSubstr("labels must be a map, not a string")));
}

TEST(UnitTestExpandTest, RangesHaveSteps) {
  EXPECT_EQ(Alerts("  - {silent_at: '${t}s', alertname: A, for: {t: 10..35/10}}\n"),
            Alerts("  - {silent_at: ['10s', '20s', '30s'], alertname: A}\n"));
  EXPECT_THAT(Series("  - {series: '$r', for: {r: 0..9/0}, values: 1}\n"),
              HasSubstr("t.yaml:3:29: the step of a range must be positive (0..9/0)"));
  EXPECT_THAT(Series("  - {series: '$r', for: {r: 0..10000/10}, values: 1}\n"),
              HasSubstr("range has more than 1000 values (0..10000/10)"));
  EXPECT_THAT(Series("  - {series: 'x{a=\"$a\"}', for: {a: 1..2/x}, values: 1}\n"),
              HasSubstr("x{a=\\\"1..2/x\\\"}"));
}

TEST(UnitTestExpandTest, BoundsRepetitions) {
  EXPECT_THAT(Series("  - {series: '$r', for: {r: 5..4}, values: 1}\n"),
              HasSubstr("t.yaml:3:29: a range must be ascending (5..4)"));
  EXPECT_THAT(Series("  - {series: '$r', for: {r: 0..1000}, values: 1}\n"),
              HasSubstr("range has more than 1000 values (0..1000)"));
  EXPECT_THAT(Series("  - {series: 'x{r=\"$r\"}', for: {r: 0..999}, values: 1}\n"),
              Not(HasSubstr("t.yaml")));
  EXPECT_THAT(Series("  - {series: '$r$s', for: {r: 0..99, s: 0..99}, values: 1}\n"),
              HasSubstr("t.yaml:3:38: for repeats its entry more than 1000 times"));
  const std::string_view nested =
      "tests:\n- name: $a\n  for: {a: 0..999}\n  input_series:\n"
      "  - {series: 'x{a=\"$b\"}', for: {b: 0..999}, values: 1}\n";
  EXPECT_THAT(Expand(nested), HasSubstr(Cat("t.yaml:5:5: repetitions and fixtures add more than ",
                                            kMaxAddedNodes, " values to the file")));
}

}  // namespace
}  // namespace pitwall::offline
