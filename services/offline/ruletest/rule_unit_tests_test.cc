#include "services/offline/ruletest/rule_unit_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/base/text/strings.h"

namespace pitwall::offline {
namespace {

using testing::HasSubstr;

constexpr char kRules[] = R"(groups:
- name: g
  interval: 10s
  rules:
  - record: twice
    expr: 2 * x
  - alert: High
    expr: twice > 4
    keep_firing_for: 20s
    labels: {level: '{{ if gt $value 15.0 }}red{{ else }}yellow{{ end }}'}
    annotations: {summary: 'x is {{ $value }}', runbook: 'see {{ $labels.node }}'}
)";
constexpr char kTest[] = R"(rule_files: [rules.yaml]
evaluation_interval: 10s
tests:
- interval: 10s
  input_series:
  - {series: 'x{node="a"}', values: '1 3 4 5 0 0 0 9'}
  alert_rule_test:
  - eval_time: 10s
    alertname: High
    exp_alerts: [{exp_labels: {node: a, level: yellow}, exp_annotations: {summary: x is 6, runbook: see a}}]
  # Half a tick later, several seconds after the event: the annotations come from the last tick.
  - eval_time: 35s
    alertname: High
    exp_alerts: [{exp_labels: {node: a, level: yellow}, exp_annotations: {summary: x is 10, runbook: see a}}]
  # In the keep_firing_for period: the annotations come from the last tick with a value.
  - eval_time: 50s
    alertname: High
    exp_alerts: [{exp_labels: {node: a, level: yellow}, exp_annotations: {summary: x is 10, runbook: see a}}]
  - eval_time: 60s
    alertname: High
  - eval_time: 70s
    alertname: High
    exp_alerts: [{exp_labels: {node: a, level: red}, exp_annotations: {summary: x is 18, runbook: see a}}]
)";

class RuleTest : public testing::Test {
 protected:
  RuleTest() { std::filesystem::create_directories(dir_); }
  ~RuleTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return (dir_ / name).string();
  }
  int Run(const std::vector<std::string>& files) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto code = RunRuleTests(files);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code.ok() ? *code : 2;
  }

  const std::filesystem::path dir_ = std::filesystem::path(testing::TempDir()) /
                                     testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string out_, err_;
};

TEST_F(RuleTest, ComparesAnnotationsAtEvalTime) {
  Write("rules.yaml", kRules);
  EXPECT_EQ(Run({Write("test.yaml", kTest)}), 0) << out_;
  EXPECT_EQ(out_, "5 passed, 0 failed\n");
}

TEST_F(RuleTest, DifferentAnnotation_FailsAndIsPrinted) {
  Write("rules.yaml", kRules);
  std::string text = kTest;
  text.replace(text.find("see a"), 5, "see b");
  EXPECT_EQ(Run({Write("test.yaml", text)}), 1);
  EXPECT_THAT(out_, HasSubstr("runbook=\"see b\""));
  EXPECT_THAT(out_, HasSubstr("4 passed, 1 failed\n"));
}

TEST_F(RuleTest, RulesDoNotCompile_OtherFilesStillRun) {
  Write("rules.yaml", kRules);
  Write("bad.yaml", "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: rat(x[5m])\n");
  const std::string good = Write("test.yaml", kTest);
  const std::string bad =
      Write("bad_test.yaml", "rule_files: [bad.yaml]\ntests: [{name: t, interval: 1s}]\n");
  EXPECT_EQ(Run({bad, good}), 1);
  EXPECT_THAT(err_, HasSubstr("bad.yaml:5:11"));
  EXPECT_THAT(err_, HasSubstr(bad));
  EXPECT_EQ(out_, "5 passed, 1 failed\n");
}

TEST_F(RuleTest, UnreadableTestFile_OtherFilesStillRun) {
  Write("rules.yaml", kRules);
  const std::string good = Write("test.yaml", kTest);
  EXPECT_EQ(Run({Write("odd.yaml", "rule_fils: []\n"), (dir_ / "none.yaml").string(), good}), 2);
  EXPECT_THAT(err_, HasSubstr("odd.yaml:1:1"));
  EXPECT_THAT(err_, HasSubstr("none.yaml"));
  EXPECT_EQ(out_, "5 passed, 0 failed\n");
}

constexpr char kExprTest[] = R"(evaluation_interval: 1m
rule_files: [rules.yaml]
tests:
- name: t
  interval: 1m
  input_series: [{series: x, values: '1 2 3'}]
  promql_expr_test:
  - {expr: twice, eval_time: 2m, exp_samples: [{labels: twice, value: 6}]}
  - {expr: ALERTS, eval_time: 2m, exp_samples: [
      {labels: 'ALERTS{alertname="High",alertstate="firing",level="yellow"}', value: 1}]}
)";

TEST_F(RuleTest, ExpressionsReadRecordedSeries) {
  Write("rules.yaml", kRules);
  EXPECT_EQ(Run({Write("test.yaml", kExprTest)}), 0) << out_;
  EXPECT_EQ(out_, "2 passed, 0 failed\n");
  std::string text = kExprTest;
  text.replace(text.find("value: 6"), 8, "value: 7");
  EXPECT_EQ(Run({Write("test.yaml", text)}), 1);
  EXPECT_THAT(out_, HasSubstr("test.yaml:8: t: expression \"twice\" at 2m:\n"
                              "  expected:\n    twice 7\n  got:\n    twice 6\n"));
}

TEST_F(RuleTest, InvalidExpressionFailsTest) {
  for (const char* expr : {"sum(", "x[5m]", "'text'", "y / on (a) y"}) {
    EXPECT_EQ(
        Run({Write("test.yaml", Cat("tests:\n- input_series: [{series: 'y{b=\"1\"}', values: 1}, "
                                    "{series: 'y{b=\"2\"}', values: 1}]\n"
                                    "  promql_expr_test: [{expr: \"",
                                    expr, "\"}]\n"))}),
        1)
        << expr;
  }
}

TEST_F(RuleTest, FailingRuleAbortsTest) {
  Write("rules.yaml", "groups:\n- name: g\n  limit: 1\n  rules:\n  - {alert: A, expr: x}\n");
  EXPECT_EQ(Run({Write("test.yaml", R"(rule_files: [rules.yaml]
tests:
- input_series: [{series: 'x{a="1"}', values: 1x9}, {series: 'x{a="2"}', values: '_ 1x9'}]
  alert_rule_test:
  - {eval_time: 0, alertname: A, exp_alerts: [{exp_labels: {a: 1}}]}
  - {eval_time: 1m, alertname: A}
  - {eval_time: 2m, alertname: A}
)")}),
            1);
  EXPECT_THAT(out_, HasSubstr("rule A"));
  EXPECT_THAT(out_, HasSubstr("1 passed, 1 failed\n"));
}

TEST_F(RuleTest, UnexpectedAnnotationFailsTest) {
  Write("rules.yaml", kRules);
  const std::string text = R"(rule_files: [rules.yaml]
tests:
- input_series: [{series: x, values: 3}]
  alert_rule_test: [{eval_time: 0, alertname: High, exp_alerts: [{exp_labels: {level: yellow}}]}]
)";
  EXPECT_EQ(Run({Write("test.yaml", text)}), 1);
  EXPECT_THAT(out_, HasSubstr("summary=\"x is 6\""));
  // Expected annotations may be omitted if the rules have Pitwall-specific keys.
  std::string own = kRules;
  own.replace(own.find("    keep_firing_for"), 4, "    scope: job\n    ");
  Write("rules.yaml", own);
  EXPECT_EQ(Run({Write("test.yaml", text)}), 0) << out_;
}

TEST_F(RuleTest, GroupsUseFileIntervalAndGivenOrder) {
  Write("rules.yaml", R"(groups:
- name: reads
  interval: 1h
  rules: [{record: z, expr: y}]
- name: writes
  rules: [{record: y, expr: x}]
)");
  const std::string test = R"(rule_files: [rules.yaml]
evaluation_interval: 30s
group_eval_order: [writes, reads]
tests:
- interval: 30s
  input_series: [{series: x, values: '1 2 3'}]
  promql_expr_test: [{expr: z, eval_time: 1m, exp_samples: [{labels: z, value: 3}]}]
)";
  EXPECT_EQ(Run({Write("test.yaml", test)}), 0) << out_;
  std::string other = test;
  other.replace(other.find("[writes, reads]"), 15, "[reads, writes]");
  other.replace(other.find("value: 3"), 8, "value: 2");
  EXPECT_EQ(Run({Write("test.yaml", other)}), 0) << out_;
}

TEST_F(RuleTest, OwnIntervals_GroupsUseTheirIntervals) {
  // The group `slow` is evaluated only once a minute. The rule file does not set an interval for
  // the group `file`.
  Write("rules.yaml",
        "groups:\n- name: slow\n  interval: 1m\n  rules: [{alert: Slow, expr: x > 5}]\n"
        "- name: file\n  rules: [{alert: File, expr: x > 5}]\n");
  const std::string test = R"(rule_files: [rules.yaml]
evaluation_interval: 10s
own_intervals: OWN
tests:
- interval: 10s
  input_series: [{series: x, values: '0 0 6 6 6 6 6 0 0'}]
  alert_rule_test:
  - {eval_time: 10s, alertname: File}
  - {eval_time: 20s, alertname: File, exp_alerts: [{exp_labels: {}}]}
  - {eval_time: 20s, alertname: Slow}
  - {eval_time: 59s, alertname: Slow}
  - {eval_time: 60s, alertname: Slow, exp_alerts: [{exp_labels: {}}]}
  - {eval_time: 80s, alertname: Slow, exp_alerts: [{exp_labels: {}}]}
)";
  const auto with = [&](std::string own) {
    std::string text = test;
    return text.replace(text.find("OWN"), 3, own);
  };
  EXPECT_EQ(Run({Write("test.yaml", with("true"))}), 0) << out_;
  EXPECT_EQ(out_, "6 passed, 0 failed\n");
  EXPECT_EQ(Run({Write("test.yaml", with("false"))}), 1);
  EXPECT_THAT(out_, HasSubstr("3 passed, 3 failed"));
}

TEST_F(RuleTest, PatternWithoutMatchingFile_PrintsWarning) {
  EXPECT_EQ(Run({Write("test.yaml", "rule_files: ['no*.yaml', none.yaml]\ntests: [{}]\n")}), 0);
  EXPECT_THAT(err_, HasSubstr("no*.yaml"));
  EXPECT_THAT(err_, HasSubstr("none.yaml"));
}

TEST_F(RuleTest, ConflictingRecordedSampleFailsTest) {
  Write("rules.yaml", "groups:\n- name: g\n  rules:\n  - {record: x, expr: y}\n");
  const std::string text = R"(rule_files: [rules.yaml]
tests:
- input_series: [{series: x, values: '1 1'}, {series: y, values: '1 2'}]
  promql_expr_test: [{expr: x, eval_time: 0, exp_samples: [{labels: x, value: 1}]}]
)";
  EXPECT_EQ(Run({Write("test.yaml", text)}), 0) << out_;
  std::string later = text;
  later.replace(later.find("eval_time: 0"), 12, "eval_time: 1m");
  EXPECT_EQ(Run({Write("test.yaml", later)}), 1);
  EXPECT_THAT(out_, HasSubstr("a different sample at this time"));
}

TEST_F(RuleTest, SupportsStartTimestampAndExternalLabels) {
  Write("rules.yaml", R"(groups:
- name: g
  rules:
  - {alert: A, expr: vector(1), labels: {in: '{{ $externalLabels.cluster }}'}, annotations: {u: '{{ $externalURL }}'}}
)");
  EXPECT_EQ(Run({Write("test.yaml", R"(rule_files: [rules.yaml]
tests:
- start_timestamp: 1000.5
  external_labels: {cluster: c}
  external_url: http://u
  input_series: [{series: x, values: '1 2 3'}]
  alert_rule_test:
  - {eval_time: 0, alertname: A, exp_alerts: [{exp_labels: {in: c}, exp_annotations: {u: 'http://u'}}]}
  promql_expr_test:
  - {expr: 'timestamp(x)', eval_time: 1m, exp_samples: [{value: 1060.5}]}
)")}),
            0)
      << out_;
}

TEST_F(RuleTest, FuzzyCompareToleratesOneBit) {
  std::string text =
      "fuzzy_compare: true\ntests:\n- input_series: [{series: x, values: "
      "2.9999999999999996}]\n  promql_expr_test: [{expr: x, exp_samples: [{labels: "
      "x, value: 3}]}]\n";
  EXPECT_EQ(Run({Write("test.yaml", text)}), 0) << out_;
  text.replace(text.find("true"), 4, "false");
  EXPECT_EQ(Run({Write("test.yaml", text)}), 1);
}

// The train_loss rules cover both scopes. The other rule reads a series that does not belong to an
// attempt.
constexpr char kAttemptRules[] = R"(groups:
- name: g
  rules:
  - {alert: Job, expr: hw_load > 1, labels: {at: hw}}
  - {alert: Attempt, expr: train_loss > 1, scope: attempt}
  - {alert: Count, expr: 'count_over_time(train_loss[attempt]) >= 3', scope: attempt}
  - {alert: First, expr: 'avg_over_time(train_loss[first 2 samples after 0]) > 7'}
)";

TEST_F(RuleTest, NewAttemptEndsIssuesSeriesAndWindows) {
  Write("rules.yaml", kAttemptRules);
  const std::string text = R"(rule_files: [rules.yaml]
evaluation_interval: 10s
tests:
- name: t
  interval: 10s
  attempts: [35s, 60s]
  input_series:
  - {series: train_loss, values: '5 5 5 5 _ _ 9 9 9'}
  - {series: hw_load, values: '2 2 2 2 _ _ _ _ _'}
  alert_rule_test:
  - {eval_time: 30s, alertname: Job, exp_alerts: [{exp_labels: {at: hw}}]}
  - {eval_time: 30s, alertname: Attempt, exp_alerts: [{}]}
  - {eval_time: 30s, alertname: Count, exp_alerts: [{}]}
  - {eval_time: 30s, alertname: First}
  # Between two ticks, the attempt's issues and series end. The look-back still covers other series.
  - {eval_time: 35s, alertname: Attempt}
  - {eval_time: 35s, alertname: Job, exp_alerts: [{exp_labels: {at: hw}}]}
  - {eval_time: 40s, alertname: Attempt}
  - {eval_time: 40s, alertname: Count}
  - {eval_time: 50s, alertname: Job, exp_alerts: [{exp_labels: {at: hw}}]}
  # Samples at the start of an attempt belong to that attempt.
  - {eval_time: 60s, alertname: Attempt, exp_alerts: [{}]}
  - {eval_time: 70s, alertname: Count}
  - {eval_time: 70s, alertname: First, exp_alerts: [{}]}
  - {eval_time: 80s, alertname: Count, exp_alerts: [{}]}
  status_test:
  - {eval_time: 34s, alertname: Attempt, status: IssuesFound}
  - {eval_time: 35s, alertname: Attempt, status: NoIssuesFound}
  - {eval_time: 40s, alertname: Attempt, status: NoData, reason: no series of train_loss}
  - {eval_time: 40s, alertname: Job, status: IssuesFound}
  - {eval_time: 60s, alertname: First, status: InProgress, reason: first samples of the attempt}
  promql_expr_test:
  - {expr: train_loss, eval_time: 30s, exp_samples: [{labels: train_loss, value: 5}]}
  - {expr: train_loss, eval_time: 35s}
  - {expr: hw_load, eval_time: 35s, exp_samples: [{labels: hw_load, value: 2}]}
  - {expr: train_loss, eval_time: 60s, exp_samples: [{labels: train_loss, value: 9}]}
)";
  EXPECT_EQ(Run({Write("test.yaml", text)}), 0) << out_ << err_;
  EXPECT_EQ(out_, "22 passed, 0 failed\n");
  // The expected results depend on the attempts, so the test must fail without them.
  std::string other = text;
  other.replace(other.find("  attempts: [35s, 60s]\n"), 23, "");
  EXPECT_EQ(Run({Write("test.yaml", other)}), 1);
  EXPECT_THAT(out_,
              HasSubstr("test.yaml:15: t: alert Attempt at 35s:\n  expected:\n    nothing\n"));
  EXPECT_THAT(out_, HasSubstr("test.yaml:27: t: status of Attempt at 35s:\n  expected:\n    "
                              "NoIssuesFound\n  got:\n    IssuesFound\n"));
  EXPECT_THAT(out_, HasSubstr("expression \"train_loss\" at 35s"));
}

TEST_F(RuleTest, SupportsAttemptsOnStepClock) {
  Write("rules.yaml", R"(groups:
- name: g
  clock: step
  rules:
  - {alert: High, expr: train_loss > 1}
  - {alert: Sum, expr: 'sum_over_time(train_loss[100]) >= 6'}
  - {alert: Needs, expr: train_loss > 1, needs: [train_gradient_norm]}
)");
  const std::string text = R"(rule_files: [rules.yaml]
tests:
- name: t
  clock: step
  attempts: [4]
  input_series: [{series: train_loss, values: '2 2 2 2 _ 2 2 2'}]
  alert_rule_test:
  - {eval_time: 2, alertname: Sum, exp_alerts: [{}]}
  - {eval_time: 3, alertname: High, exp_alerts: [{}]}
  - {eval_time: 4, alertname: High}
  - {eval_time: 4, alertname: Sum}
  - {eval_time: 5, alertname: High, exp_alerts: [{}]}
  - {eval_time: 6, alertname: Sum}
  - {eval_time: 7, alertname: Sum, exp_alerts: [{}]}
  - {eval_time: 7, alertname: Needs}
  status_test:
  - {eval_time: 3, alertname: High, status: IssuesFound}
  - {eval_time: 4, alertname: High, status: NoData, reason: no series of train_loss}
  - {eval_time: 6, alertname: Sum, status: NoIssuesFound}
  - {eval_time: 7, alertname: Needs, status: NoData, reason: no series of train_gradient_norm}
)";
  EXPECT_EQ(Run({Write("test.yaml", text)}), 0) << out_ << err_;
  EXPECT_EQ(out_, "12 passed, 0 failed\n");
  std::string other = text;
  other.replace(other.find("  attempts: [4]\n"), 16, "");
  EXPECT_EQ(Run({Write("test.yaml", other)}), 1);
  EXPECT_THAT(out_, HasSubstr("alert High at step 4:\n  expected:\n    nothing\n"));
  EXPECT_THAT(out_, HasSubstr("status of High at step 4:\n"));
}

// Once met, a requirement stays met regardless of the look-back, because jobs may log a metric
// infrequently.
TEST_F(RuleTest, StepClock_RequirementMetOnceStaysMet) {
  Write("rules.yaml", R"(groups:
- name: g
  clock: step
  rules: [{alert: A, expr: train_loss > 1, needs: [train_gradient_norm]}]
)");
  EXPECT_EQ(Run({Write("test.yaml", R"(rule_files: [rules.yaml]
tests:
- clock: step
  input_series:
  - {series: train_loss, values: 0x1500}
  - {series: train_gradient_norm, values: '_ 1 _x1200 stale'}
  status_test:
  - {eval_time: 0, alertname: A, status: NoData, reason: no series of train_gradient_norm}
  - {eval_time: 1, alertname: A, status: NoIssuesFound}
  - {eval_time: 1100, alertname: A, status: NoIssuesFound}
  - {eval_time: 1203, alertname: A, status: NoData}
)")}),
            0)
      << out_;
}

TEST_F(RuleTest, ComparesStatusesByNameAndReason) {
  Write("rules.yaml", R"(groups:
- name: g
  limit: 1
  rules:
  - {alert: X, expr: x > 1}
  - {alert: Two, expr: x > 1, labels: {severity: warning}}
  - {alert: Two, expr: x > 5, labels: {severity: critical}}
  - {alert: Limited, expr: y}
)");
  const std::string text = R"(rule_files: [rules.yaml]
tests:
- name: t
  input_series: [{series: x, values: '1 2'}, {series: 'y{a="1"}', values: 1 1}, {series: 'y{a="2"}', values: 1 1}]
  status_test:
  - {eval_time: 1m, alertname: X, status: IssuesFound}
  - {eval_time: 0, alertname: X, status: NoIssuesFound}
  - {eval_time: 1m, alertname: Two, labels: {severity: critical}, status: NoIssuesFound}
  - {eval_time: 1m, alertname: Two, labels: {severity: warning}, status: IssuesFound}
  - {eval_time: 1m, alertname: Limited, status: Error, reason: exceeded limit of 1}
)";
  EXPECT_EQ(Run({Write("test.yaml", text)}), 0) << out_;
  EXPECT_EQ(out_, "5 passed, 0 failed\n");

  const auto failure = [&](const std::string& entry) {
    EXPECT_EQ(Run({Write("test.yaml", Cat(text, "  - ", entry, "\n"))}), 1);
    EXPECT_THAT(out_, HasSubstr("5 passed, 1 failed\n"));
    return out_;
  };
  EXPECT_THAT(failure("{eval_time: 1m, alertname: X, status: NoData}"),
              HasSubstr("test.yaml:11: t: status of X at 1m:\n  expected:\n    NoData\n  got:\n    "
                        "IssuesFound\n"));
  EXPECT_THAT(
      failure("{eval_time: 1m, alertname: Limited, status: Error, reason: limit of 2}"),
      HasSubstr(
          "  expected:\n    Error, with a reason that contains: limit of 2\n  got:\n    Error: "
          "exceeded limit of 1 with 2 "));
  EXPECT_THAT(failure("{alertname: Y, status: NoData}"), HasSubstr("  no alerting rule"));
  EXPECT_THAT(failure("{alertname: Two, labels: {severity: none}, status: NoData}"),
              HasSubstr("  no alerting rule"));
  EXPECT_THAT(failure("{alertname: Two, status: NoData}"), HasSubstr("rules.yaml:7\n"));
}

TEST_F(RuleTest, UnreadableFile_ReturnsExitCode2) {
  EXPECT_EQ(*RunRuleTests({"/"}), 2);
  EXPECT_EQ(*RunRuleTests({"/nonexistent"}), 2);
}

}  // namespace
}  // namespace pitwall::offline
