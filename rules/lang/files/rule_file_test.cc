#include "rules/lang/files/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/lang/printer.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kSecond = 1'000'000'000;

RuleFilePtr Parse(std::string_view text) {
  Diagnostics diagnostics;
  RuleFilePtr file = ParseRuleFile("dir/pack.yaml", text, &diagnostics);
  EXPECT_EQ(diagnostics.ToString(), "");
  return file;
}

std::string Failure(std::string_view text) {
  Diagnostics diagnostics;
  ParseRuleFile("p.yaml", text, &diagnostics);
  return diagnostics.ToString();
}

TEST(RuleFile, ParsesEveryKey) {
  const RuleFilePtr file = Parse(R"(groups:
- name: bottleneck
  interval: 1s
  limit: 10
  query_offset: 30s
  lookback: 2m
  clock: time
  align: job
  unsteady: 5m
  labels: {team: ml}
  rules:
  - record: node:cpu:ratio
    expr: avg by (node) (system_cpu_utilization_ratio)
    labels: {source: pitwall}
  - alert: CPUBottleneck
    params: {gpu_threshold: {value: 10, unit: percent, help: an idle GPU}, share: .5}
    explains: [Slow, {alert: LowGPU, equal: [node, gpu], scope: job, lag: 90s, within: 10m}]
    expr: |
      hw_gpu_utilization_ratio * 100
        < $gpu_threshold
    for: 30s
    keep_firing_for: 1m
    clear: hw_gpu_utilization_ratio > 0.2
    scope: attempt
    needs: [hw_gpu_utilization_ratio]
    labels: {severity: warning}
    annotations:
      summary: "GPU {{ $labels.gpu }} waits"
- name: steps
  clock: step
  mode: eval
  interval: 10
  lookback: 50
  rules:
  - alert: Slow
    expr: train_step_duration_seconds > 1
    for: 5
    unsteady: 90s
)");
  EXPECT_EQ(file->pack, "pack");
  ASSERT_EQ(file->groups.size(), 2U);
  const GroupText& group = file->groups[0];
  EXPECT_EQ(group.name, "bottleneck");
  EXPECT_EQ(group.interval, kSecond);
  EXPECT_EQ(group.query_offset, 30 * kSecond);
  EXPECT_EQ(group.lookback, 120 * kSecond);
  EXPECT_EQ(group.limit, 10U);
  EXPECT_TRUE(group.align_job);
  ASSERT_EQ(group.labels.size(), 1U);
  ASSERT_EQ(group.rules.size(), 2U);
  EXPECT_FALSE(group.rules[0].alert);
  EXPECT_EQ(group.rules[0].name, "node:cpu:ratio");
  const RuleText& rule = group.rules[1];
  EXPECT_TRUE(rule.alert);
  EXPECT_EQ(rule.hold, 30 * kSecond);
  EXPECT_EQ(rule.keep_firing, 60 * kSecond);
  EXPECT_EQ(rule.scope, Scope::kAttempt);
  ASSERT_EQ(rule.parameters.size(), 2U);
  EXPECT_EQ(rule.parameters[0].value, 10);
  EXPECT_EQ(rule.parameters[0].unit, "percent");
  EXPECT_EQ(rule.parameters[0].help, "an idle GPU");
  EXPECT_EQ(rule.parameters[1].value, 0.5);
  EXPECT_EQ(rule.parameters[1].unit, "");
  ASSERT_EQ(rule.explains.size(), 2U);
  EXPECT_EQ(rule.explains[0].alert, "Slow");
  EXPECT_TRUE(rule.explains[0].equal.empty());
  EXPECT_EQ(rule.explains[1].alert, "LowGPU");
  EXPECT_EQ(rule.explains[1].equal, (std::vector<std::string>{"node", "gpu"}));
  EXPECT_FALSE(rule.explains[0].job_wide);
  EXPECT_EQ(rule.explains[0].lag, std::nullopt);
  EXPECT_EQ(rule.explains[0].within, std::nullopt);
  EXPECT_TRUE(rule.explains[1].job_wide);
  EXPECT_EQ(rule.explains[1].lag, 90'000'000'000);
  EXPECT_EQ(rule.explains[1].within, 600'000'000'000);
  ASSERT_TRUE(rule.needs.has_value());
  EXPECT_EQ(rule.needs->at(0).metric, "hw_gpu_utilization_ratio");
  EXPECT_EQ(Print(*rule.expr.expr), "hw_gpu_utilization_ratio * 100 < $gpu_threshold");
  EXPECT_EQ(Print(*rule.clear->expr), "hw_gpu_utilization_ratio > 0.2");
  EXPECT_EQ(rule.annotations[0].text(), "GPU {{ $labels.gpu }} waits");
  EXPECT_EQ(rule.unsteady_ns, 300 * kSecond);  // inherited from the group
  EXPECT_EQ(group.rules[0].unsteady_ns, 0);    // recording rules have no unsteady time
  EXPECT_EQ(rule.position, (Position{15, 5}));

  const GroupText& steps = file->groups[1];
  EXPECT_TRUE(steps.step_clock);
  EXPECT_EQ(steps.mode, "eval");
  EXPECT_EQ(steps.interval, 10 * kSecond);
  EXPECT_EQ(steps.lookback, 50 * kSecond);
  EXPECT_EQ(steps.rules[0].hold, 5 * kSecond);
  EXPECT_EQ(steps.rules[0].unsteady_ns, 90 * kSecond);  // in event time, not steps
}

TEST(RuleFile, ErrorsInParametersAndExplainsNameCause) {
  Diagnostics diagnostics;
  ParseRuleFile("p.yaml", R"(groups:
- name: a
  rules:
  - alert: A
    expr: x > $a + $b
    params: {a: {unit: percent}, b: {value: x, typo: 1}}
    explains: [A, "", {equal: [node]}, {alert: B, equals: [node]}]
  - record: r
    expr: x
    explains: [B]
)",
                &diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    text += Cat(diagnostic.line, ":", diagnostic.column, " ", diagnostic.message, "\n");
  }
  EXPECT_EQ(text,
            "6:17 parameter \"a\" needs \"value\"\n"
            "6:45 parameter \"b\" must be a number, found \"x\"\n"
            "6:48 unknown key \"typo\" in a parameter\n"
            "7:16 a rule cannot explain its own issues\n"
            "7:19 \"explains\": expected the name of an alert\n"
            "7:23 \"explains\": expected the name of an alert\n"
            "7:51 unknown key \"equals\" in an explained alert (did you mean \"equal\"?)\n"
            "10:5 invalid field \"explains\" in a recording rule\n");
}

TEST(RuleFile, AcceptsEmptyFiles) {
  EXPECT_TRUE(Parse("")->groups.empty());
  EXPECT_TRUE(Parse("groups:\n")->groups.empty());
  EXPECT_EQ(Parse("groups:\n- name: x\n")->groups.size(), 1U);
}

TEST(RuleFile, PackNameIsTheFileStem) {
  EXPECT_EQ(PackName("a/b/c.rules.yaml"), "c.rules");
  EXPECT_EQ(PackName("c.yml"), "c");
  EXPECT_EQ(PackName("c"), "c");
}

TEST(RuleFile, ExpressionErrorsPointIntoTheFile) {
  EXPECT_EQ(
      Failure(R"(groups:
- name: g
  rules:
  - alert: Block
    expr: |
      a
        > )b
  - alert: Folded
    expr: >-
      a
      +
      * b
  - alert: Quoted
    expr: "a{b=\"c\"} ) b"
  - alert: Plain
    expr: sum(x
      by y)
)"),
      "p.yaml:7:11: error: unexpected \")\", expected an expression\n"
      "            > )b\n"
      "              ^\n"
      "p.yaml:12:7: error: unexpected \"*\", expected an expression\n"
      "          * b\n"
      "          ^\n"
      "p.yaml:14:23: error: unexpected \")\"\n"
      "        expr: \"a{b=\\\"c\\\"} ) b\"\n"
      "                          ^\n"
      "p.yaml:17:7: error: unexpected identifier \"by\" in aggregation, expected \",\" or \")\"\n"
      "          by y)\n"
      "          ^~\n");
}

TEST(RuleFile, RejectsControlCharactersInAnnotationsAndLabels) {
  const auto failure = [](std::string_view text) {
    return Failure(
        Cat("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x\n    ", text, "\n"));
  };
  EXPECT_THAT(failure("annotations: {summary: \"\\e[2J\"}"),
              HasSubstr("control character in the annotation \"summary\""));
  EXPECT_THAT(failure("labels: {team: \"\\u202e\"}"), HasSubstr("control character in the label"));
  EXPECT_THAT(failure("annotations: {summary: \"\\x9b\"}"), HasSubstr("control character"));
  EXPECT_THAT(failure("annotations: {description: \"two\\nlines,\\tone tab → ä\"}"),
              Not(HasSubstr("control character")));
}

TEST(RuleFile, UnsteadyRequiresDurationAndAlert) {
  const std::string failure = Failure(R"(groups:
- name: g
  clock: step
  unsteady: 30
  rules:
  - {alert: A, expr: x, unsteady: 10}
  - {record: b, expr: x, unsteady: 1m}
)");
  EXPECT_THAT(failure, testing::HasSubstr("p.yaml:4:13"));
  EXPECT_THAT(failure, testing::HasSubstr("p.yaml:6:35"));
  EXPECT_THAT(failure, testing::HasSubstr("invalid field \"unsteady\" in a recording rule"));
}

TEST(RuleFile, CollectsAllErrors) {
  EXPECT_EQ(
      Failure(R"(groups:
- name: g
  intervall: 5s
  interval: fast
  clock: wall
  mode: train
  align: sun
  limit: -1
  rules:
  - alert: A
    record: B
    expr: x
  - expr: x
  - alert: NoExpr
  - record: r{a="b"}
    expr: x
    for: 5s
    annotations: {summary: no}
  - alert: C
    expr: x
    scope: pod
    params: {p: high, "1x": 2}
    needs: x
    labels: {__name__: y}
- rules: []
- name: g
)"),
      "p.yaml:3:3: error: unknown key \"intervall\" in a rule group (did you mean \"interval\"?)\n"
      "      intervall: 5s\n"
      "      ^\n"
      "p.yaml:4:13: error: \"interval\": not a valid duration: \"fast\" (use a form such as 30s, "
      "5m, or 1h30m)\n"
      "      interval: fast\n"
      "                ^\n"
      "p.yaml:5:10: error: \"clock\" must be time or step, found \"wall\"\n"
      "      clock: wall\n"
      "             ^\n"
      "p.yaml:6:3: error: \"mode\" needs clock: step\n"
      "      mode: train\n"
      "      ^\n"
      "p.yaml:7:10: error: \"align\" must be epoch or job, found \"sun\"\n"
      "      align: sun\n"
      "             ^\n"
      "p.yaml:8:10: error: \"limit\": -1 is out of range, allowed is 0 to 1000000000\n"
      "      limit: -1\n"
      "             ^\n"
      "p.yaml:11:5: error: only one of \"record\" and \"alert\" must be set\n"
      "        record: B\n"
      "        ^\n"
      "p.yaml:13:5: error: one of \"record\" or \"alert\" must be set\n"
      "      - expr: x\n"
      "        ^\n"
      "p.yaml:14:5: error: \"expr\" must be set in a rule\n"
      "      - alert: NoExpr\n"
      "        ^\n"
      "p.yaml:15:13: error: braces in the name of a recording rule; should they be in expr? "
      "\"r{a=\\\"b\\\"}\"\n"
      "      - record: r{a=\"b\"}\n"
      "                ^\n"
      "p.yaml:17:5: error: invalid field \"for\" in a recording rule\n"
      "        for: 5s\n"
      "        ^\n"
      "p.yaml:18:5: error: invalid field \"annotations\" in a recording rule\n"
      "        annotations: {summary: no}\n"
      "        ^\n"
      "p.yaml:21:12: error: \"scope\" must be node, job or attempt, found \"pod\"\n"
      "        scope: pod\n"
      "               ^\n"
      "p.yaml:22:17: error: parameter \"p\" must be a number, found \"high\"\n"
      "        params: {p: high, \"1x\": 2}\n"
      "                    ^\n"
      "p.yaml:22:23: error: invalid parameter name: \"1x\"\n"
      "        params: {p: high, \"1x\": 2}\n"
      "                          ^\n"
      "p.yaml:23:12: error: \"needs\": expected a list of metric names, found a string\n"
      "        needs: x\n"
      "               ^\n"
      "p.yaml:24:14: error: invalid label name: \"__name__\"\n"
      "        labels: {__name__: y}\n"
      "                 ^\n"
      "p.yaml:25:3: error: the group needs a name\n"
      "    - rules: []\n"
      "      ^\n"
      "p.yaml:26:3: error: group name \"g\" is repeated in this file\n"
      "    - name: g\n"
      "      ^\n");
}

TEST(RuleFile, StepClockUsesPlainNumbers) {
  EXPECT_EQ(Failure(R"(groups:
- name: g
  clock: step
  align: job
  interval: 10s
  rules:
  - alert: A
    expr: x
    for: 1m
    scope: job
)"),
            "p.yaml:4:3: error: \"align: job\" is for the time clock; steps count from 0\n"
            "      align: job\n"
            "      ^\n"
            "p.yaml:5:13: error: \"interval\": durations on the step clock are plain numbers of "
            "steps, found \"10s\"\n"
            "      interval: 10s\n"
            "                ^\n"
            "p.yaml:9:10: error: \"for\": durations on the step clock are plain numbers of steps, "
            "found \"1m\"\n"
            "        for: 1m\n"
            "             ^\n"
            "p.yaml:10:5: error: rules on the step clock always have scope: attempt\n"
            "        scope: job\n"
            "        ^\n");
}

TEST(RuleFile, YamlErrorsBecomeDiagnostics) {
  EXPECT_EQ(Failure("groups:\n- name: a\n  name: b\n"),
            "p.yaml:3:3: error: key \"name\" is a duplicate\n      name: b\n      ^\n");
  EXPECT_EQ(Failure("- a\n"),
            "p.yaml:1:1: error: a rule file must be a map, found a list\n    - a\n    ^\n");
}

TEST(RuleFile, ScopeNodeAddsLabel) {
  const RuleFilePtr file =
      Parse("groups:\n- name: g\n  rules:\n  - {alert: A, expr: x, scope: node, labels: {a: b}}\n");
  const RuleText& rule = file->groups[0].rules[0];
  EXPECT_EQ(rule.scope, Scope::kJob);
  ASSERT_EQ(rule.labels.size(), 2U);
  EXPECT_EQ(rule.labels[1].name, "scope");
  EXPECT_EQ(rule.labels[1].text(), "node");
  EXPECT_THAT(Failure("groups:\n- name: g\n  rules:\n  - {alert: A, expr: x, scope: node, labels: "
                      "{scope: mine}}\n"),
              HasSubstr("\"scope: node\" sets the label \"scope\""));
  EXPECT_THAT(Failure("groups:\n- name: g\n  rules:\n  - {alert: A, expr: x, scope: rack}\n"),
              HasSubstr("must be node, job or attempt, found \"rack\""));
}

}  // namespace
}  // namespace pitwall::lang
