#include "rules/check/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/types.h"
#include "rules/check/validators.h"
#include "rules/lang/files/rule_file.h"
#include "rules/lang/parser.h"
#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSecond = 1'000'000'000;

CheckOptions Options() {
  CheckOptions options;
  options.default_interval = 60 * kSecond;
  options.default_lookback = 300 * kSecond;
  options.default_step_interval = kSecond;
  options.default_step_lookback = 1000 * kSecond;
  return options;
}

// Returns the diagnostics for a file. Info diagnostics about foreign metrics are included only if
// `infos` is true.
std::string Check(std::string_view text, CheckedRuleSet* out = nullptr, bool infos = false) {
  lang::Diagnostics diagnostics;
  CheckedRuleSet set =
      CheckRuleSet({lang::ParseRuleFile("p.yaml", text, &diagnostics)}, Options(), &diagnostics);
  diagnostics.Sort();
  std::string reported;
  for (const lang::Diagnostic& diagnostic : diagnostics.list()) {
    if (infos || diagnostic.severity != lang::Severity::kInfo)
      CatTo(reported, diagnostic.ToString(), "\n");
  }
  if (out != nullptr) *out = std::move(set);
  return reported;
}

// Returns the diagnostics for one alert expression, including the caret line, or "" if there are
// none.
std::string CheckExpr(std::string_view expr, std::string_view group_keys = "interval: 1s") {
  std::string reported = Check(Cat("groups:\n- name: g\n  ", group_keys,
                                   "\n  rules:\n  - alert: A\n    expr: |\n      ", expr, "\n"));
  return reported;
}

TEST(Types, ReportsGoldenErrors) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"1 == 1",
       "7:9: error: comparisons between scalars must use BOOL modifier\n          1 == 1\n         "
       "   ^~"},
      {"a + bool b",
       "7:9: error: bool modifier can only be used on comparison operators\n"
       "          a + bool b\n            ^~~~~~"},
      {"a and 1",
       "7:9: error: set operator \"and\" not allowed in binary scalar expression\n"
       "          a and 1\n            ^~~"},
      {"a == on(x) 1",
       "7:7: error: vector matching only allowed between instant vectors\n"
       "          a == on(x) 1\n          ^~~~~~~~~~~~"},
      {"a or on(x) group_left b",
       "7:9: error: no grouping allowed for \"or\" operation\n"
       "          a or on(x) group_left b\n            ^~~~~~~~~~~~~~~~~~~"},
      {"a + on(x) group_left(x) b",
       "7:9: error: label \"x\" must not occur in ON and GROUP clause at once\n"
       "          a + on(x) group_left(x) b\n            ^~~~~~~~~~~~~~~~~~~~~"},
      {"a[5m] + 1",
       "7:7: error: binary expression must contain only scalar and instant vector types\n"
       "          a[5m] + 1\n          ^~~~~"},
      {"-a[5m]",
       "7:7: error: unary expression only allowed on expressions of type scalar or instant vector, "
       "got range "
       "vector\n          -a[5m]\n          ^~~~~~"},
      {"{}",
       "7:7: error: vector selector must contain at least one non-empty matcher\n          {}\n    "
       "      ^~"},
      {"{a=~\".*\"}",
       "7:7: error: vector selector must contain at least one non-empty matcher\n"
       "          {a=~\".*\"}\n          ^~~~~~~~~"},
      {"a{b=~\"(\"}",
       "7:9: error: bad regular expression \"(\": missing ): (\n"
       "          a{b=~\"(\"}\n            ^~~~~~"},
      {"a{__name__=\"b\"}",
       "7:7: error: metric name must not be set twice: \"a\" or \"b\"\n"
       "          a{__name__=\"b\"}\n          ^~~~~~~~~~~~~~~"},
      {"rate(a)",
       "7:12: error: expected type range vector in call to function \"rate\", got instant vector\n"
       "          rate(a)\n               ^"},
      {"rat(a[5m])",
       "7:7: error: unknown function with name \"rat\" (did you mean \"rate\"?)\n"
       "          rat(a[5m])\n          ^~~"},
      {"abs()",
       "7:7: error: expected 1 argument(s) in call to \"abs\", got 0\n          abs()\n          "
       "^~~~~"},
      {"round(a, 1, 2)",
       "7:7: error: expected at most 2 argument(s) in call to \"round\", got 3\n"
       "          round(a, 1, 2)\n          ^~~~~~~~~~~~~~"},
      {"sum(1)",
       "7:11: error: expected type instant vector in aggregation expression, got scalar\n"
       "          sum(1)\n              ^"},
      {"quantile(a, a)",
       "7:16: error: expected type scalar in aggregation parameter, got instant vector\n"
       "          quantile(a, a)\n                   ^"},
      {"\"text\"",
       "7:7: error: the result of a rule must be an instant vector or a scalar, got string\n"
       "          \"text\"\n          ^~~~~~"},
      {"a[5m]",
       "7:7: error: the result of a rule must be an instant vector or a scalar, got range vector\n"
       "          a[5m]\n          ^~~~~"},
  };
  for (const auto& [expr, reported] : kCases)
    EXPECT_EQ(CheckExpr(expr), Cat("p.yaml:", reported, "\n")) << expr;
}

TEST(Types, ReportsAllErrorsInExpression) {
  const std::string reported = CheckExpr("rat(a[5m]) + abs(b, c) + sum(1)");
  EXPECT_NE(reported.find("unknown function"), std::string::npos);
  EXPECT_NE(reported.find("expected 1 argument(s)"), std::string::npos);
  EXPECT_NE(reported.find("aggregation expression"), std::string::npos);
}

TEST(Types, FoldsConstants) {
  const std::pair<std::string_view, double> kCases[] = {
      {"2 ^ 3 ^ 2", 512},
      {"-(1 + 2) * 3", -9},
      {"7 % 4", 3},
      {"1 > bool 2", 0},
      {"1h / 2", 1800},
      {"pi() > bool 3", 1},
      {"1 atan2 1", 0.78539816339744831},
  };
  for (const auto& [text, value] : kCases) {
    lang::Diagnostics diagnostics;
    const lang::ExprPtr expr = lang::ParseExpr(lang::Source("e", std::string(text)), &diagnostics);
    ASSERT_NE(expr, nullptr);
    ASSERT_TRUE(ConstantValue(*expr).has_value()) << text;
    EXPECT_DOUBLE_EQ(*ConstantValue(*expr), value) << text;
    EXPECT_EQ(TypeOf(*expr), Type::kScalar);
  }
  for (const std::string_view text : {"$p + 1", "time()", "a", "scalar(a) * 2"}) {
    lang::Diagnostics diagnostics;
    EXPECT_FALSE(
        ConstantValue(*lang::ParseExpr(lang::Source("e", std::string(text)), &diagnostics)))
        << text;
  }
}

TEST(Support, ReportsUnsupportedSyntax) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"rate(a[5m])[1h:]", "the result of a rule must be"},
      {"histogram_avg(a)", "function histogram_avg() reads native histograms, which"},
      {"rate(a[5m] smoothed)", "the smoothed modifier is not supported yet"},
      {"a anchored", "the anchored modifier is not supported yet"},
      {"a + fill (0) b", "the fill modifier is not supported yet"},
      {"mad_over_time(a[attempt])", "needs every sample of its window"},
      {"sum_over_time(a[5000 samples])", "a window has 1 to 4096 samples, this one 5000"},
      {"label_replace(a, \"\", \"$1\", \"y\", \"(.*)\")", "invalid destination label name"},
      {"label_replace(a, \"x\", \"$1\", \"y\", \"(\")",
       "invalid regular expression in label_replace()"},
      {"label_join(a, \"x\", \"-\", \"\")", "invalid source label name in label_join()"},
      {"count_values(\"\", a)", "invalid label name in count_values()"},
      {"a </ b", "operator \"</\" is not supported yet"},
  };
  for (const auto& [expr, reported] : kCases)
    EXPECT_NE(CheckExpr(expr).find(reported), std::string::npos) << CheckExpr(expr);
}

TEST(Support, AcceptsSupportedSyntax) {
  for (const std::string_view expr :
       {"up == 0",
        "rate(a_total[5m]) > 0.5",
        "avg by (node) (a) / ignoring (x) group_left (y) b",
        "a and on (n) b or c",
        "quantile_over_time(0.9, a[5m])",
        "quantile_over_time(1 - 0.1, a[5m])",
        "stddev(a) without (x)",
        "time() - timestamp(a) > 60",
        "absent(a{x=\"y\"})",
        "a > scalar(sum(a)) + (scalar(b) > bool 1)",
        "a > on () vector(1)",
        "a + 1",
        "-a offset 5m",
        "clamp(a, 0, 1)",
        "round(a, 0.1)",
        "last_over_time(a[5m])",
        "first_over_time(a[5m])",
        "present_over_time(a[5m])",
        "resets(a[5m]) + changes(a[5m]) + idelta(a[5m]) + irate(a[5m])",
        "{__name__=~\"a.*\"}",
        "topk(3, a) or bottomk by (x) (1, a) or limitk(2, a) or limit_ratio(0.5, a)",
        "count_values without (x) (\"v\", a)",
        "label_replace(a, \"x\", \"$1\", \"y\", \"(.*)\") + label_join(a, \"x\", \"-\", \"y\")",
        "histogram_quantile(0.9, a) + histogram_fraction(0, 1, a)",
        "absent_over_time(a[5m])",
        "hour() + year(a) * sin(b)",
        "sort_desc(a)",
        "max_over_time(rate(a[5m])[10m:1m] offset 5m) > 1",
        "predict_linear(sum by (x) (a)[10m:], 60)",
        "absent_over_time((a + b)[10m:1m])",
        "predict_linear(a[1h], 60) + deriv(a[5m]) + double_exponential_smoothing(a[5m], 0.1, 0.5)",
        "mad_over_time(a[5m]) + ts_of_max_over_time(a[5m])",
        "quantile_over_time(scalar(a), a[5m])",
        "sum_over_time(a[500 samples]) + rate(a[attempt])",
        "a atan2 b % c ^ d",
        "group(a) unless stdvar(b)"}) {
    EXPECT_EQ(CheckExpr(expr), "") << expr;
  }
}

TEST(Windows, ReportsFutureReadsLongHistoryAndHighCost) {
  EXPECT_EQ(
      CheckExpr("a @ 5"),
      "p.yaml:7:9: error: @ reads at a fixed time and needs history: a live rule cannot use it\n"
      "          a @ 5\n            ^~~\n");
  EXPECT_EQ(CheckExpr("a offset -5m"),
            "p.yaml:7:16: error: a negative offset reads the future: a live rule cannot use it\n"
            "          a offset -5m\n                   ^~~\n");
  EXPECT_EQ(CheckExpr("avg_over_time(a[1s]) > 1"),
            "p.yaml:7:22: warning: the window of 1s is shorter than two intervals of the group "
            "(1s): it may hold too few "
            "samples, or skip some between two evaluations\n          avg_over_time(a[1s]) > 1\n"
            "                         ^~~~\n");
  EXPECT_EQ(CheckExpr("avg_over_time(a[30d]) > 1", "interval: 1s"),
            "p.yaml:7:22: error: a window of 30d has 2592000 panes for each series, 19.8 MiB and "
            "more, at most 65536 are allowed: use a longer interval (now 1s), or record a shorter "
            "window and look at that\n          avg_over_time(a[30d]) > 1\n"
            "                         ^~~~~\n");
  EXPECT_EQ(CheckExpr("quantile_over_time(0.9, a[2h]) > 1"),
            "p.yaml:7:32: error: a window of 2h has 7200 panes for each series, and "
            "quantile_over_time keeps every sample of them, at most 4096 are allowed: use a longer "
            "interval (now 1s), or sketch_quantile_over_time, which has an error of at most 1 %\n"
            "          quantile_over_time(0.9, a[2h]) > 1\n"
            "                                   ^~~~\n");
  EXPECT_NE(CheckExpr("mad_over_time(max_over_time(a[1m])[2h:1s]) > 1").find("keeps every sample"),
            std::string::npos);
  EXPECT_EQ(CheckExpr("quantile_over_time(0.9, a[2h]) > 1", "interval: 10s"), "");
  // Alerts on service-level objectives use these windows.
  for (const std::string_view expr : {"sum_over_time(a[30d])", "avg_over_time(a:ratio[30d])",
                                      "increase(a[30d])", "a offset 30d", "max_over_time(a[4w])"}) {
    EXPECT_EQ(CheckExpr(expr, "interval: 1m"), "") << expr;
  }
  EXPECT_EQ(CheckExpr("rate(a[3d])", "interval: 30s"), "");
  EXPECT_EQ(CheckExpr("rate(a[1w])", "interval: 15s"), "");
  EXPECT_EQ(CheckExpr("avg_over_time(rate(a[5m])[30d:1m])", "interval: 1m"), "");
  EXPECT_EQ(CheckExpr("avg_over_time(a[1h] offset 1ms) > 1"), "");
  EXPECT_NE(CheckExpr("avg_over_time(a[1d1ms]) > 1").find("has 172801 panes"), std::string::npos);
  EXPECT_NE(CheckExpr("a offset 1d > 1").find("an offset of 1d has 86400 panes"),
            std::string::npos);
  EXPECT_NE(CheckExpr("avg_over_time(a[290y]) > 1").find("reaches back too far"),
            std::string::npos);
}

TEST(Clock, StepClockRulesAreChecked) {
  const std::string_view kStep = "clock: step";
  EXPECT_EQ(CheckExpr("avg_over_time(train_loss[50]) > 1", kStep), "");
  EXPECT_EQ(
      CheckExpr("avg_over_time(train_loss[50m]) > 1", kStep),
      "p.yaml:7:32: error: durations on the step clock are plain numbers of steps, found \"50m\"\n"
      "          avg_over_time(train_loss[50m]) > 1\n                                   ^~~\n");
  EXPECT_NE(CheckExpr("avg_over_time(train_loss[2.5]) > 1", kStep)
                .find("a number of steps must be whole"),
            std::string::npos);
  EXPECT_EQ(
      CheckExpr("hw_gpu_utilization_ratio > 1", kStep),
      "p.yaml:7:7: error: samples of \"hw_gpu_utilization_ratio\" carry no step: a rule on the "
      "step clock never "
      "sees them\n          hw_gpu_utilization_ratio > 1\n          ^~~~~~~~~~~~~~~~~~~~~~~~\n");
  EXPECT_NE(CheckExpr("DCGM_FI_DEV_GPU_TEMP > 1", kStep).find("carry no step"), std::string::npos);
  EXPECT_EQ(CheckExpr("ALERTS == 1", kStep), "");
  EXPECT_NE(Check(R"(groups:
- name: t
  rules:
  - record: avg_util
    expr: avg(hw_gpu_utilization_ratio)
- name: s
  clock: step
  rules:
  - record: steps:loss
    expr: avg(train_loss)
  - alert: A
    expr: steps:loss > avg_util
)")
                .find("12:24: error: \"avg_util\" is recorded on the time clock only"),
            std::string::npos);
}

TEST(Names, ReportsUnknownNames) {
  EXPECT_EQ(
      CheckExpr("hw_gpu_utilizazion_ratio > 1"),
      "p.yaml:7:7: warning: metric \"hw_gpu_utilizazion_ratio\" is not in the catalog of known "
      "series (did you "
      "mean \"hw_gpu_utilization_ratio\"?)\n          hw_gpu_utilizazion_ratio > 1\n          "
      "^~~~~~~~~~~~~~~~~~~~~~~~\n");
  EXPECT_NE(CheckExpr("system_nonsense_whatever > 1").find("warning: metric"), std::string::npos);
  EXPECT_EQ(CheckExpr("kafka_consumergroup_lag > 1"), "");
  EXPECT_NE(
      Check("groups:\n- name: g\n  rules: [{alert: A, expr: foreign_total > 1}]\n", nullptr, true)
          .find(": info: metric"),
      std::string::npos);
}

TEST(Parameters, ReportsUndeclaredAndUnusedParameters) {
  EXPECT_EQ(
      Check(R"(groups:
- name: g
  rules:
  - alert: A
    params: {threshold: 1, spare: 2, back: 3}
    expr: up > $treshold
    clear: up < $back
)"),
      "p.yaml:5:14: error: parameter \"threshold\" is not used: no $threshold in expr or clear\n"
      "        params: {threshold: 1, spare: 2, back: 3}\n                 ^\n"
      "p.yaml:5:28: error: parameter \"spare\" is not used: no $spare in expr or clear\n"
      "        params: {threshold: 1, spare: 2, back: 3}\n                               ^\n"
      "p.yaml:6:16: error: parameter $treshold is not declared in the rule's params (did you mean "
      "\"threshold\"?)\n        expr: up > $treshold\n                   ^~~~~~~~~\n");
}

TEST(Templates, RejectsInvalidTemplates) {
  EXPECT_EQ(
      Check(R"(groups:
- name: g
  rules:
  - alert: A
    expr: up > 1
    labels: {ok: "{{ $labels.x }}", text: "}} is text"}
    annotations:
      summary: a {{ $value
      description: "{{ printf \"%f }}\" $value }} {{/* }} */}}"
      suggestion: "{{ printf `%f }}"
      function: "{{ nosuch $value }}"
  - record: r
    expr: up
    labels: {plain: "{{ is text here"}
)"),
      "p.yaml:8:18: error: unclosed action\n          summary: a {{ $value\n                     "
      "^~\n"
      "p.yaml:10:30: error: unterminated raw quoted string\n          suggestion: \"{{ printf "
      "`%f }}\"\n                                 ^~\n"
      "p.yaml:11:21: error: function \"nosuch\" not defined\n          function: \"{{ nosuch "
      "$value "
      "}}\"\n                        ^~\n");
}

TEST(Templates, ChecksQueriesAsExpressions) {
  const auto reported = [](std::string_view text) {
    return Check(
        Cat("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: up > 1\n"
            "    annotations:\n      s: '",
            text, "'\n"));
  };
  EXPECT_EQ(reported("{{ query \"sum by (x) (rate(up[5m]))\" | first | value }}"), "");
  EXPECT_EQ(reported("{{ printf \"up > %d\" 3 | query | len }}"), "");
  EXPECT_EQ(
      reported("{{ query \"rat(up[5m])\" }}"),
      "p.yaml:7:20: error: in this query, at 1:1: unknown function with name \"rat\" (did you "
      "mean \"rate\"?)\n          s: '{{ query \"rat(up[5m])\" }}'\n"
      "                       ^~~~~~~~~~~~~\n");
  for (const auto& [text, want] : std::vector<std::pair<const char*, const char*>>{
           {"{{ query \"up >\" }}", "in this query, at 1:5: "},
           {"{{ query \"up[5m]\" }}", "must be an instant vector or a scalar, got range vector"},
           {"{{ query \"up @ 5\" }}", "@ reads at a fixed time"},
           {"{{ query \"up > $x\" }}", "a query in a template has no parameters"}}) {
    EXPECT_THAT(reported(text), ::testing::HasSubstr(want)) << text;
  }
  CheckedRuleSet set;
  Check(
      "groups:\n- name: g\n  labels: {l: \"{{ query `a` }}\"}\n  rules:\n  - alert: A\n"
      "    expr: up\n    annotations: {s: \"{{ query `b` }}{{ query `c + d` }}\"}\n",
      &set);
  EXPECT_EQ(set.groups[0].rules[0].labels[0].queries.size(), 1u);
  EXPECT_EQ(set.groups[0].rules[0].annotations[0].queries.size(), 2u);
}

TEST(RuleSet, CaptureAnnotationAcceptsOnlyStacks) {
  const auto reported = [](std::string_view value) {
    return Check(Cat("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: up > 1\n",
                     "    annotations: {capture: ", value, "}\n"));
  };
  EXPECT_EQ(reported("stacks"), "");
  EXPECT_EQ(reported("stack"),
            "p.yaml:6:28: error: annotation capture: \"stack\" cannot be captured; use stacks, or "
            "leave the annotation out\n        annotations: {capture: stack}\n"
            "                               ^~~~~\n");
  EXPECT_THAT(reported("\"{{ $value }}\""), ::testing::HasSubstr("cannot be captured"));
  EXPECT_THAT(reported("\"\""), ::testing::HasSubstr("cannot be captured"));
}

TEST(RuleSet, OnsetAnnotationAcceptsOnlyValue) {
  const auto reported = [](std::string_view value) {
    return Check(Cat("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: up > 1\n",
                     "    annotations: {onset: ", value, "}\n"));
  };
  EXPECT_EQ(reported("value"), "");
  EXPECT_THAT(reported("\"{{ $value }}\""),
              ::testing::HasSubstr("is not a valid onset; use value"));
  EXPECT_THAT(reported("10s"), ::testing::HasSubstr("is not a valid onset"));
}

TEST(RuleSet, AppliesDefaultsNamesAndLabels) {
  CheckedRuleSet set;
  EXPECT_EQ(Check(R"(groups:
- name: g
  labels: {a: group, b: group}
  rules:
  - alert: A
    expr: up == 0
    labels: {b: rule, c: rule}
  - alert: A
    expr: up == 1
    scope: attempt
  - record: A
    expr: sum(up)
- name: s
  clock: step
  rules: [{alert: B, expr: train_loss > 1}]
)",
                  &set),
            "");
  ASSERT_EQ(set.groups.size(), 2U);
  EXPECT_EQ(set.groups[0].interval, 60 * kSecond);
  EXPECT_EQ(set.groups[0].lookback, 300 * kSecond);
  EXPECT_EQ(set.groups[1].interval, kSecond);
  EXPECT_EQ(set.groups[1].lookback, 1000 * kSecond);
  EXPECT_EQ(set.groups[1].clock.mode, "train");
  const std::vector<CheckedRule>& rules = set.groups[0].rules;
  EXPECT_EQ(rules[0].name, "p/g/A");
  EXPECT_EQ(rules[1].name, "p/g/A#2");
  EXPECT_EQ(rules[2].name, "p/g/A#3");
  ASSERT_EQ(rules[0].labels.size(), 3U);
  EXPECT_EQ(rules[0].labels[1].text, "rule");
  EXPECT_FALSE(rules[0].attempt_scope);
  EXPECT_TRUE(rules[1].attempt_scope);
  EXPECT_TRUE(set.groups[1].rules[0].attempt_scope);
}

TEST(RuleSet, RejectsDuplicatePacks) {
  lang::Diagnostics diagnostics;
  CheckRuleSet({lang::ParseRuleFile("a/x.yaml", "", &diagnostics),
                lang::ParseRuleFile("b/x.yml", "", &diagnostics)},
               Options(), &diagnostics);
  EXPECT_NE(diagnostics.ToString().find("pack \"x\" is also the stem of a/x.yaml"),
            std::string::npos);
}

TEST(RuleSet, NeedsAreDerivedFromExpression) {
  const std::pair<std::string_view, std::vector<std::string>> kCases[] = {
      {"a > 1", {"a"}},
      {"a and b or c", {}},
      {"a / b or a", {"a"}},
      {"a unless b", {"a"}},
      {"absent(a)", {}},
      {"sum by (x) (rate(b[5m])) > on (x) a", {"a", "b"}},
      {"a > scalar(b)", {"a"}},
      {"{__name__=\"a\",x=\"y\"}", {"a"}},
      {"{__name__=~\"a.*\"}", {}},
      {"ALERTS == 1", {}},
      {"pitwall_source_flagged == 1", {}},
      {"pitwall_job_attempt > 1", {"pitwall_job_attempt"}},
      {"vector(1)", {}},
  };
  for (const auto& [text, names] : kCases) {
    lang::Diagnostics diagnostics;
    EXPECT_EQ(RequiredMetrics(*lang::ParseExpr(lang::Source("e", std::string(text)), &diagnostics)),
              names)
        << text;
  }
  CheckedRuleSet set;
  EXPECT_EQ(Check("groups:\n- name: g\n  rules: [{alert: A, expr: a or b, needs: [train_step, "
                  "train_loss, train_step]}]\n",
                  &set),
            "");
  EXPECT_THAT(set.groups[0].rules[0].needs, ElementsAre("train_loss", "train_step"));
}

TEST(RuleSet, WarnsThatQueryOffsetHasNoEffect) {
  EXPECT_NE(Check("groups:\n- {name: g, query_offset: 1m}\n", nullptr, true)
                .find("info: query_offset has no effect"),
            std::string::npos);
}

}  // namespace
}  // namespace pitwall::check
