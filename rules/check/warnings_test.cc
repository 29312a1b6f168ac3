// Tests for warnings, with cases that must produce a warning and cases that must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/rule_set.h"
#include "rules/check/value_range.h"
#include "rules/lang/files/rule_file.h"
#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

// Returns the warnings about a file, including their carets.
std::string Warnings(std::string_view text) {
  CheckOptions options;
  options.default_interval = 60 * kSecond;
  options.default_lookback = 300 * kSecond;
  options.default_step_interval = kSecond;
  options.default_step_lookback = 1000 * kSecond;
  lang::Diagnostics diagnostics;
  CheckRuleSet({lang::ParseRuleFile("p.yaml", text, &diagnostics)}, options, &diagnostics);
  diagnostics.Sort();
  std::string reported;
  for (const lang::Diagnostic& diagnostic : diagnostics.list()) {
    EXPECT_NE(diagnostic.severity, lang::Severity::kError) << diagnostic.ToString() << "\n" << text;
    if (diagnostic.severity == lang::Severity::kWarning)
      CatTo(reported, diagnostic.ToString(), "\n");
  }
  return reported;
}

std::string OfAlert(std::string_view expr, std::string_view more = "",
                    std::string_view group = "interval: 1s") {
  return Warnings(Cat("groups:\n- name: g\n  ", group,
                      "\n  rules:\n  - alert: A\n    expr: |\n      ", expr, "\n", more));
}
std::string OfRecord(std::string_view expr, std::string_view name = "some:new_name") {
  return Warnings(Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - record: ", name,
                      "\n    expr: |\n      ", expr, "\n"));
}

TEST(Warnings, IncludePositionsAndCarets) {
  EXPECT_EQ(OfAlert("a > 1 and count_over_time(b[1m]) < 1"),
            "p.yaml:7:17: warning: the alert can never fire: this is never true: "
            "count_over_time(b[1m]) is at least 1, compared with 1\n"
            "          a > 1 and count_over_time(b[1m]) < 1\n"
            "                    ^~~~~~~~~~~~~~~~~~~~~~~~~~\n");
}

TEST(Warnings, ReportsComparisonsThatAreNeverTrue) {
  const std::pair<const char*, const char*> cases[] = {
      {"vector(1) > 2",
       "the alert can never fire: this is never true: vector(1) is always 1, "
       "compared with 2"},
      {"vector(1 - 2) > 0", "can never fire"},
      {"stddev_over_time(a[1m]) < 0", "stddev_over_time(a[1m]) is at least 0"},
      {"-abs(a) > 0", "is at most 0"},
      {"0 > count(a)", "count(a) is at least 1"},
      {"rate(a[1m]) < 0", "is at least 0"},
      {"changes(a[1m]) == -1", "is at least 0"},
      {"absent(a) > 1", "is always 1"},
      {"hour() > 23", "from 0 to 23"},
      {"day_of_week() == 7 and a > 1", "from 0 to 6"},
      {"sgn(a) > 1", "from -1 to 1"},
      {"clamp(a, 2, 5) > 5", "from 2 to 5"},
      {"hw_gpu_utilization_ratio > 90",
       "is from 0 to 1, compared with 90: for 90 percent write 0.9"},
      {"avg by (node) (avg_over_time(hw_gpu_utilization_ratio[1m])) >= 95", "write 0.95"},
      {"1 - hw_gpu_utilization_ratio > 5", "is from 0 to 1, compared with 5"},
      {"hw_gpu_utilization_ratio * 100 > 200", "from 0 to 100"},
      {"(a > 5) < 3", "is more than 5"},
      {"a > NaN", "a comparison with NaN is never true"},
      {"a > Inf", "can never fire"},
      {"a > 1 and vector(0) > 1", "the alert can never fire"},
      {"sum by (x) (a > 1 and b < Inf) > 0 and absent(c) == 0", "absent(c) is always 1"},
  };
  for (const auto& [expr, want] : cases) EXPECT_THAT(OfAlert(expr), HasSubstr(want)) << expr;
  // The other side of `or` can still fire.
  EXPECT_THAT(OfAlert("a > 1 or hw_gpu_utilization_ratio > 50"),
              HasSubstr("p.yaml:7:16: warning: this is never true"));
  EXPECT_THAT(OfRecord("a > 1 and sgn(b) > 1"), HasSubstr("there is never a result: "));
}

TEST(Warnings, AcceptsComparisonsThatMayBeTrue) {
  for (const char* expr : {"a > 5",
                           "a > 5 and a < 10",
                           "a < 0",
                           "avg_over_time(a[1m]) < 0",
                           "deriv(a[1m]) < 0",
                           "delta(a[1m]) < 0",
                           "hw_gpu_utilization_ratio > 0.9",
                           "hw_gpu_utilization_ratio >= 1",
                           "hw_gpu_utilization_ratio > 1",
                           "hw_gpu_utilization_ratio * 100 > 90",
                           "100 - hw_gpu_utilization_ratio * 100 > 50",
                           "count(a) == 1",
                           "count(a) < 3",
                           "absent(a) == 1",
                           "absent(a)",
                           "a != a",
                           "a == Inf",
                           "abs(a) == Inf",
                           "hour() > 8 and a > 1",
                           "sum(a) > 100",
                           "stddev(a) > 5",
                           "a % 10 > 5",
                           "clamp_max(a, 5) >= 5",
                           "time() - max(timestamp(a)) > 60",
                           "sum_over_time(a[1m]) < -5",
                           "histogram_quantile(0.9, rate(a[1m])) > 3",
                           "quantile(0.5, a) > 5",
                           "-a > 5",
                           "predict_linear(a[1m], 60) < 0",
                           "system_cpu_time_seconds_total > 100",
                           "resets(a[1m]) > 0",
                           "a / hw_gpu_utilization_ratio > 500",
                           "exp(a) > 3",
                           "ln(a) < 0",
                           "log10(a) < -3",
                           "a ^ 2 < 0.5",
                           "count_values(\"v\", a) >= 2",
                           "topk(5, a) > 3",
                           "limitk(2, a) > 1"}) {
    EXPECT_THAT(OfAlert(expr), IsEmpty()) << expr;
  }
}

TEST(Warnings, UsesDefaultParameterValues) {
  const auto with = [](std::string_view expr, std::string_view params) {
    return OfAlert(expr, Cat("    params: {", params, "}\n"));
  };
  EXPECT_THAT(
      with("hw_gpu_utilization_ratio < 0.2 or hw_gpu_utilization_ratio > $busy", "busy: 90"),
      HasSubstr("compared with 90: for 90 percent write 0.9"));
  EXPECT_THAT(with("a > $low and a < $high", "low: 9, high: 3"), HasSubstr("contradict"));
  EXPECT_THAT(with("a > $low and a < $high", "low: 3, high: 9"), IsEmpty());
  EXPECT_THAT(with("hw_gpu_utilization_ratio > $busy", "busy: 0.9"), IsEmpty());
  // The parameter is a switch, and an override can enable the rule.
  EXPECT_THAT(with("a > 1 and on () vector($enabled) == 1", "enabled: 0"), IsEmpty());
}

TEST(Warnings, ReportsContradictingOperands) {
  const std::pair<const char*, const char*> cases[] = {
      {"a > 5 and a < 3",
       "the two sides contradict each other: a would have to be more than 5 and "
       "less than 3"},
      {"a >= 5 and a < 5", "contradict"},
      {"a == 1 and a == 2", "contradict"},
      {"5 < a and b > 1 and (a < 3)", "contradict"},
      {"rate(a{x=\"1\"}[1m]) > 1 and rate(a{x=\"1\"}[1m]) <= 0.5", "contradict"},
      {"a unless a", "unless excludes every element"},
      {"a > 5 unless a > 3", "unless excludes every element"},
  };
  for (const auto& [expr, want] : cases) EXPECT_THAT(OfAlert(expr), HasSubstr(want)) << expr;
  for (const char* expr :
       {"a > 3 and a < 5", "a >= 5 and a <= 5", "a > 5 and b < 3", "a > 5 or a < 3",
        "a{x=\"1\"} > 5 and a{x=\"2\"} < 3", "a > 5 and on () a < 3",
        "a > 5 and ignoring (i) a < 3", "a > 5 and a offset 5m < 3", "a != 1 and a == 2",
        "a > 3 unless a > 5", "a > 5 unless b > 3", "a > 5 unless (a > 3 and b > 1)"}) {
    EXPECT_THAT(OfAlert(expr), IsEmpty()) << expr;
  }
}

TEST(Warnings, ReportsContradictingMatchers) {
  EXPECT_EQ(OfAlert("a{x=\"1\",x=\"2\"} > 1"),
            "p.yaml:7:15: warning: the alert can never fire: no series matches both x=\"1\" and "
            "x=\"2\"\n"
            "          a{x=\"1\",x=\"2\"} > 1\n"
            "                  ^~~~~\n");
  EXPECT_THAT(OfAlert("a{x=\"1\",x!=\"1\"} > 1"), HasSubstr("no series matches both"));
  EXPECT_THAT(OfAlert("a{x=\"1\",x=~\"2|3\"} > 1"), HasSubstr("no series matches both"));
  for (const char* expr : {"a{x=\"1\",x=\"1\"} > 1", "a{x=\"1\",x!=\"2\"} > 1",
                           "a{x=\"1\",x=~\"1|2\"} > 1", "a{x=~\"1\",x=~\"2\"} > 1"}) {
    EXPECT_THAT(OfAlert(expr), IsEmpty()) << expr;
  }
}

TEST(Warnings, ReportsOperandsThatCannotMatch) {
  const std::pair<const char*, const char*> cases[] = {
      {"sum by (x) (a) and sum by (y) (b)",
       "warning: the two sides of and match only where labels are missing: all labels must be "
       "equal, and the left side has a label \"x\" that the right side cannot have: add on(…) or "
       "ignoring(…)"},
      {"sum by (x, y) (a) / sum by (x) (b) > 1", "the left side has a label \"y\""},
      {"sum by (x) (a) / sum by (x, y) (b) > 1", "the right side has a label \"y\""},
      {"hw_gpu_utilization_ratio > 0.5 and sum(b) > 1", "that the right side cannot have"},
      {"sum by (x) (a) > 5 unless sum(b) > 1",
       "unless excludes elements only if labels are missing"},
      {"a > 1 and on (z) sum by (x) (b) > 1",
       "on(z): the right side has no label \"z\", it has been aggregated away"},
      {"sum without (z) (a) > on (z) b", "on(z): the left side has no label \"z\""},
      {"a * on (x) group_left (z) sum by (x) (b) > 1",
       "label \"z\" cannot be copied from the other side"},
      {"sum by (x) (sum by (y) (a)) > 1", "by (x): the inner expression has no label \"x\""},
      {"sum by (le) (histogram_quantile(0.9, rate(a[1m]))) > 1", "by (le)"},
  };
  for (const auto& [expr, want] : cases) EXPECT_THAT(OfAlert(expr), HasSubstr(want)) << expr;
  for (const char* expr :
       {"sum by (x) (a) and sum by (x) (b)", "sum by (x) (a) or sum by (y) (b)",
        "sum by (x, y) (a) / on (x) group_left sum by (x) (b) > 1",
        "sum by (x, y) (a) / ignoring (y) group_left sum by (x) (b) > 1",
        "sum by (x) (a) and on () sum(b) > 1", "a / sum(b) > 1", "a > 1 and b > 1",
        "sum by (x) (a) * on (x) group_left (z) b > 1",
        "hw_gpu_utilization_ratio > 0.5 and on (node) sum by (node) (b) > 1",
        "label_replace(a{x=\"1\"}, \"x\", \"\", \"\", \"\") - sum without (x) (b) > 1",
        "sum by (x) (label_replace(a, \"x\", \"$1\", \"y\", \"(.*)\")) > 1",
        "sum by (v) (count_values(\"v\", a)) > 1",
        "sum without (z) (a) and sum without (z) (b) > 1", "sum by (x) (sum by (x, y) (a)) > 1",
        "histogram_quantile(0.9, sum by (le, x) (rate(a[1m]))) > 1 and sum by (x) (b) > 2"}) {
    EXPECT_THAT(OfAlert(expr), IsEmpty()) << expr;
  }
}

TEST(Warnings, ReportsAlertsThatAlwaysFire) {
  for (const char* expr : {"vector(1)", "1", "vector(1) > 0", "sum(a) > 5 or vector(0)", "time()",
                           "absent(a{x=\"1\",x=\"2\"})"}) {
    EXPECT_THAT(OfAlert(expr), HasSubstr("the alert always fires")) << expr;
  }
  EXPECT_THAT(OfAlert("a > bool 5"), HasSubstr("remove bool"));
  EXPECT_THAT(OfAlert("count_over_time(a[1m]) >= 0"),
              HasSubstr("the alert fires for every series that exists"));
  for (const char* expr : {"count(up == 0) > 0", "sum(rate(a[1m]) > 0.1) > 0", "max(a > 5) > 0",
                           "count by (x) (a and b) >= 1", "absent(a)", "absent(a) == 1",
                           "vector(time()) % 60 < 30", "a or b", "a", "a >= 0", "group(a) == 1"}) {
    EXPECT_THAT(OfAlert(expr), IsEmpty()) << expr;
  }
  EXPECT_THAT(OfRecord("vector(1)"), IsEmpty());
  EXPECT_THAT(OfRecord("a > bool 5"), IsEmpty());
  EXPECT_THAT(Warnings("groups:\n- name: g\n  rules:\n  - {alert: Watchdog, expr: vector(1)}\n"
                       "  - {alert: DeadMansSwitch, expr: vector(1)}\n"),
              IsEmpty());
}

TEST(Warnings, ReportsWindowsWithFewerThanTwoSamples) {
  EXPECT_THAT(OfAlert("rate(a[1 samples]) > 1"),
              HasSubstr("7:13: warning: the alert can never fire: rate() needs two samples, and "
                        "this window holds one sample"));
  EXPECT_THAT(OfAlert("deriv(a[1m:1m]) > 1"), HasSubstr("this subquery has one evaluation"));
  EXPECT_THAT(OfAlert("kendall_tau_over_time(a[1 samples]) > 0.5"), HasSubstr("needs two samples"));
  EXPECT_THAT(OfAlert("robust_deriv(a[1m:1m]) > 1"), HasSubstr("this subquery has one evaluation"));
  for (const char* expr : {"rate(a[2 samples]) > 1", "avg_over_time(a[1 samples]) > 1",
                           "rate(a[2m:1m]) > 1", "max_over_time(a[1m:1m]) > 1"}) {
    EXPECT_THAT(OfAlert(expr), IsEmpty()) << expr;
  }
}

TEST(Warnings, ReportsClearConditionThatIsNeverTrue) {
  EXPECT_THAT(
      OfAlert("a > 5", "    keep_firing_for: 5s\n    clear: hw_gpu_utilization_ratio > 5\n"),
      HasSubstr("p.yaml:9:12: warning: clear can never hold: "));
  EXPECT_THAT(OfAlert("a > 5", "    clear: a < 3\n"), IsEmpty());
}

TEST(Warnings, ReportsForClauseShorterThanInterval) {
  EXPECT_EQ(
      OfAlert("a > 5", "    for: 10s\n", "interval: 30s"),
      "p.yaml:8:5: warning: for: 10s is shorter than the group's interval: the alert fires at "
      "the second evaluation, after 30s\n"
      "        for: 10s\n"
      "        ^\n");
  EXPECT_THAT(OfAlert("a > 5", "    for: 30s\n", "interval: 30s"), IsEmpty());
  EXPECT_THAT(OfAlert("a > 5", "    for: 0s\n", "interval: 30s"), IsEmpty());
}

TEST(Warnings, ReportsDuplicateRules) {
  const auto two = [](std::string_view a, std::string_view b) {
    return Warnings(Cat("groups:\n- name: g\n  rules:\n  - {alert: A, expr: x > 1", a,
                        "}\n- name: h\n  rules:\n  - {alert: A, expr: (x) > 1", b, "}\n"));
  };
  // Differences in formatting and parentheses do not matter.
  EXPECT_THAT(
      Warnings("groups:\n- name: g\n  rules:\n  - {alert: A, expr: x>1}\n"
               "- name: h\n  rules:\n  - {alert: A, expr: x  >  1}\n"),
      HasSubstr(
          "p.yaml:7:13: warning: this rule is a duplicate of the one at p.yaml:4, with the same "
          "name, labels and expression"));
  EXPECT_THAT(two("", ", labels: {severity: critical}"), IsEmpty());
  EXPECT_THAT(Warnings("groups:\n- name: g\n  rules:\n  - {alert: A, expr: xyz > 1}\n"
                       "  - {alert: B, expr: xyz > 1}\n  - {alert: A, expr: xyz > 2}\n"
                       "  - {record: A, expr: xyz > 1}\n"),
              IsEmpty());
}

TEST(Warnings, ReportsRecordedNamesThatConflictWithKnownSeries) {
  EXPECT_THAT(OfRecord("avg(hw_power_watts)", "hw_gpu_utilization_ratio"),
              HasSubstr("p.yaml:5:13: warning: \"hw_gpu_utilization_ratio\" is a series of the "
                        "catalog"));
  EXPECT_THAT(OfRecord("a", "ALERTS"), HasSubstr("a series that the engine records for alerts"));
  // Deriving a series from another exporter's series is allowed.
  EXPECT_THAT(OfRecord("DCGM_FI_DEV_GPU_UTIL / 100", "hw_gpu_utilization_ratio"), IsEmpty());
  EXPECT_THAT(OfRecord("my_exporter_busy", "hw_gpu_utilization_ratio"), IsEmpty());
  EXPECT_THAT(OfRecord("node_memory_MemAvailable_bytes", "system_memory_usage_bytes"), IsEmpty());
  // hostmetrics uses the same metric name with other labels. The label derived_from distinguishes
  // the series.
  const std::string_view rule =
      "  rules:\n  - record: system_cpu_utilization_ratio\n"
      "    expr: irate(system_cpu_time_seconds_total{state!=\"\"}[3m])\n";
  EXPECT_THAT(Warnings(Cat("groups:\n- name: g\n", rule)), HasSubstr("or a label derived_from"));
  EXPECT_THAT(
      Warnings(Cat("groups:\n- name: g\n", rule, "    labels: {derived_from: hostmetrics}\n")),
      IsEmpty());
  EXPECT_THAT(Warnings(Cat("groups:\n- name: g\n  labels: {derived_from: hostmetrics}\n", rule)),
              IsEmpty());
  EXPECT_THAT(OfRecord("avg(hw_gpu_utilization_ratio)", "job:gpu_utilization:avg"), IsEmpty());
}

TEST(Warnings, ReportsLabelsRemovedByAggregation) {
  const auto with = [](std::string_view expr, std::string_view text) {
    return OfAlert(expr, Cat("    annotations:\n      s: '", text, "'\n"));
  };
  EXPECT_EQ(
      with("sum by (rank) (a) > 1", "GPU {{ $labels.gpu }} of {{ $labels.rank }}"),
      "p.yaml:9:18: warning: $labels.gpu is always empty: the expression has aggregated label "
      "\"gpu\" away\n"
      "          s: 'GPU {{ $labels.gpu }} of {{ $labels.rank }}'\n"
      "                     ^~~~~~~~~~~\n");
  EXPECT_THAT(with("max without (gpu) (a) > 1", "{{ $.Labels.gpu }}"), HasSubstr("always empty"));
  EXPECT_THAT(OfAlert("sum(a) > 1", "    labels: {x: \"{{ $labels.node }}\"}\n"),
              HasSubstr("always empty"));
  EXPECT_THAT(with("a > 1", "{{ $labels.gpu }}"), IsEmpty());
  EXPECT_THAT(with("sum by (gpu) (a) > 1", "{{ $labels.gpu }} {{ $value }}"), IsEmpty());
  EXPECT_THAT(with("sum without (x) (a) > 1", "{{ $labels.gpu }}"), IsEmpty());
  EXPECT_THAT(with("a > on (x) group_left (gpu) b", "{{ $labels.gpu }}"), IsEmpty());
  EXPECT_THAT(with("sum by (x) (a) > 1",
                   "{{ range query \"b\" }}{{ .Labels.gpu }}{{ end }}{{ \"$labels.gpu\" }}"),
              IsEmpty());
}

TEST(ValueRange, ArithmeticIsSound) {
  const ValueRange ratio{0, 1, false, false};
  const ValueRange any;
  const auto text = [](const ValueRange& range) { return RangeText(range); };
  EXPECT_EQ(text(Arithmetic(BinaryOp::kAdd, ratio, ratio)), "from 0 to 2");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kSub, ratio, ratio)), "from -1 to 1");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kMul, ratio, ValueRange::Point(-3))), "from -3 to 0");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kMul, ratio, ValueRange::AtLeast(0))), "at least 0");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kDiv, ratio, ratio)), "at least 0");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kDiv, ValueRange::Point(1), ValueRange{-1, 1, false, false})),
            "any number");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kAdd, ratio, any)), "any number");
  EXPECT_EQ(text(Arithmetic(BinaryOp::kMod, any, ValueRange::Point(10))), "from -10 to 10");
  EXPECT_TRUE(NeverTrue(BinaryOp::kGt, ratio, ValueRange::Point(1)));
  EXPECT_FALSE(NeverTrue(BinaryOp::kGe, ratio, ValueRange::Point(1)));
  EXPECT_FALSE(NeverTrue(BinaryOp::kNe, ratio, ValueRange::Point(1)));
  EXPECT_TRUE(AlwaysTrue(BinaryOp::kLe, ratio, ValueRange::Point(1)));
  EXPECT_FALSE(AlwaysTrue(BinaryOp::kLt, ratio, ValueRange::Point(1)));
}

}  // namespace
}  // namespace pitwall::check
