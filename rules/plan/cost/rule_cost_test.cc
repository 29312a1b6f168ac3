#include "rules/plan/cost/rule_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "rules/plan/cost/program_text.h"
#include "rules/plan/cost/rule_limits.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string File(std::string_view expr, std::string_view keys = "interval: 1s") {
  return Cat("groups:\n- name: g\n  ", keys, "\n  rules:\n  - alert: A\n    expr: ", expr, "\n");
}

ProgramPtr Compile(std::string_view text) {
  const RuleSetFile files[] = {{"p.yaml", std::string(text)}};
  const StatusOr<ProgramPtr> program = CompileRules(files);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : std::make_shared<Program>();
}

RuleCost CostOfExpr(std::string_view expr, const CostOptions& options = {},
                    std::string_view keys = "interval: 1s") {
  static std::vector<ProgramPtr> kept;  // keeps the program alive, because the cost points to it
  kept.push_back(Compile(File(expr, keys)));
  return EstimateCost(*kept.back(), options).rules.at(0);
}

// Returns the diagnostics of the rule with these limits, or "" if it is accepted.
std::string Limited(std::string_view expr, const RuleLimits& limits) {
  lang::Diagnostics diagnostics;
  const StatusOr<ProgramPtr> program =
      CompileRuleSet({.files = {{"p.yaml", File(expr)}}}, &diagnostics, {.limits = &limits});
  EXPECT_EQ(program.ok(), !diagnostics.HasErrors());
  std::string out;
  for (const lang::Diagnostic& d : diagnostics.list()) {
    if (d.severity == lang::Severity::kError) CatTo(out, d.ToString(), "\n");
  }
  return out;
}

TEST(RuleCost, CostClass_DependsOnWindowsAndLabels) {
  const std::pair<const char*, CostClass> cases[] = {
      {"avg_over_time(a[1m]) > 1", CostClass::kIncremental},
      {"quantile_over_time(0.9, a[1m]) > 1", CostClass::kIncremental},
      {"quantile_over_time(scalar(b), a[1m]) > 1", CostClass::kRescan},
      {"mad_over_time(a[1m]) > 1", CostClass::kRescan},
      {"double_exponential_smoothing(a[1m], 0.5, 0.5) > 1", CostClass::kRescan},
      {"avg_over_time(a[50 samples]) > 1", CostClass::kRescan},
      {"outliers_over_time(a[1m], 3) > 1", CostClass::kRescan},
      {"robust_deriv(a[1m]) > 1", CostClass::kRescan},
      {"kendall_tau_over_time(a[1m]) > 1", CostClass::kRescan},
      {"robust_deriv(a[first 50 samples]) > 1", CostClass::kIncremental},
      // The labels depend on the rule, not on values.
      {"histogram_over_time(a[1m], 0, 1, 10) > 1", CostClass::kRescan},
      {"peer_histogram_distance(a) > 1", CostClass::kIncremental},
      {"max_over_time(mad_over_time(a[1m])[5m:1m]) > 1", CostClass::kRescan},
      {"topk(3, a) > 1", CostClass::kDynamicLabels},
      {"count_values(\"v\", a) > 1", CostClass::kDynamicLabels},
      {"sum by (x) (a) > 1", CostClass::kIncremental},
  };
  for (const auto& [expr, want] : cases) EXPECT_EQ(CostOfExpr(expr).cost_class(), want) << expr;
}

TEST(RuleCost, StateGrowsWithPanesFieldsAndSamples) {
  const auto state = [](std::string_view expr, const CostOptions& options = {}) {
    return CostOfExpr(expr, options).state_bytes;
  };
  // With one sample per pane, the panes keep samples for every family.
  const double minute = state("sum_over_time(a[1m]) > 1");
  EXPECT_GT(state("sum_over_time(a[10m]) > 1"), 5 * minute);
  EXPECT_LT(state("sum_over_time(a[10m]) > 1"), 10 * minute);
  EXPECT_GT(state("rate(a[1m]) > 1"), 1.5 * minute);  // also stores positions
  // With many samples per pane, a pane has partial results of a fixed size.
  const CostOptions often{.sample_interval = Duration::Millis(100)};
  const CostOptions very_often{.sample_interval = Duration::Millis(1)};
  EXPECT_EQ(state("sum_over_time(a[1m]) > 1", often),
            state("sum_over_time(a[1m]) > 1", very_often));
  EXPECT_GT(state("quantile_over_time(0.5, a[1m]) > 1", often),
            7 * state("quantile_over_time(0.5, a[1m]) > 1"));
  // The state of an [attempt] window is constant.
  EXPECT_LT(state("sum_over_time(a[attempt]) > 1"), 200);
}

TEST(RuleCost, WorkMatchesMeasuredCosts) {
  // With one evaluation and one sample per second, the sum costs 9.6 per sample and 2.3 per read,
  // the need costs 2.3 and 1, and the comparison costs 1.
  EXPECT_NEAR(CostOfExpr("sum_over_time(a[1m]) > 1").work_ns, 9.6 + 2.3 + 2.3 + 1 + 1, 1e-9);
  // Costs are per evaluation, and ten samples arrive between two evaluations.
  EXPECT_NEAR(CostOfExpr("sum_over_time(a[1m]) > 1", {}, "interval: 10s").work_ns,
              10 * (9.6 + 2.3) + 2.3 + 1 + 1, 1e-9);
  // The cost of rescans grows with the window.
  const double minute = CostOfExpr("mad_over_time(a[1m]) > 1").work_ns;
  EXPECT_GT(CostOfExpr("mad_over_time(a[10m]) > 1").work_ns, 8 * minute);
  // A step costs as much as a second.
  EXPECT_NEAR(CostOfExpr("sum_over_time(train_loss[60]) > 1", {},
                         "clock: step\n  mode: train\n  interval: 1")
                  .work_ns,
              CostOfExpr("sum_over_time(train_loss[1m]) > 1").work_ns, 1e-9);
}

TEST(RuleCost, SamplePairsAreLimited) {
  const double minute = CostOfExpr("robust_deriv(a[1m]) > 1").work_ns;
  EXPECT_GT(CostOfExpr("robust_deriv(a[4m]) > 1").work_ns, 12 * minute);
  // Above 256 samples, the number of pairs is constant, but each sample is still read.
  EXPECT_LT(CostOfExpr("robust_deriv(a[1h]) > 1").work_ns,
            2 * CostOfExpr("robust_deriv(a[5m]) > 1").work_ns);
  const double ranks = CostOfExpr("kendall_tau_over_time(a[1m]) > 1").work_ns;
  EXPECT_GT(CostOfExpr("kendall_tau_over_time(a[10m]) > 1").work_ns, 10 * ranks);
  EXPECT_LT(CostOfExpr("kendall_tau_over_time(a[10m]) > 1").work_ns, 20 * ranks);
}

// Ten bounds and +Inf yield eleven elements, until an aggregation combines them.
TEST(RuleCost, BucketsCountAsElements) {
  const auto work = [](std::string_view expr) { return CostOfExpr(expr).work_ns; };
  const double one = work("histogram_over_time(a[1m], 0, 1, 10)");
  EXPECT_NEAR(work("histogram_over_time(a[1m], 0, 1, 10) > 1"), one + 11, 1e-9);
  EXPECT_NEAR(work("histogram_over_time(a[1m], 0, 1, 10) * 2 > 1"), one + 22, 1e-9);
  const double by_le = work("sum by (le) (histogram_over_time(a[1m], 0, 1, 10))");
  EXPECT_NEAR(work("sum by (le) (histogram_over_time(a[1m], 0, 1, 10)) > 1"), by_le + 11, 1e-9);
  const double all = work("sum(histogram_over_time(a[1m], 0, 1, 10))");
  EXPECT_NEAR(work("sum(histogram_over_time(a[1m], 0, 1, 10)) > 1"), all + 1, 1e-9);
  const double quantile = work("histogram_quantile(0.9, histogram_over_time(a[1m], 0, 1, 10))");
  EXPECT_NEAR(work("histogram_quantile(0.9, histogram_over_time(a[1m], 0, 1, 10)) > 1"),
              quantile + 1, 1e-9);
  // In a window over this subquery, each element is a series.
  const double state = CostOfExpr("sum_over_time(rate(a[1m])[10m:1m])").windows.back().state_bytes;
  const RuleCost sums = CostOfExpr("sum_over_time(histogram_over_time(a[1m], 0, 1, 10)[10m:1m])");
  EXPECT_DOUBLE_EQ(sums.windows.back().state_bytes, 11 * state);
  EXPECT_DOUBLE_EQ(CostOfExpr("histogram_over_time(a[1m], 0, 1, 250)").state_bytes,
                   CostOfExpr("histogram_over_time(a[1m], 0, 1, 10)").state_bytes + 240 * (8 + 9));
}

TEST(RuleCost, CountsEvaluationsOfSubqueries) {
  const RuleCost cost =
      CostOfExpr("max_over_time(rate(a[1m])[10m:250ms]) > 1", {}, "interval: 30s");
  ASSERT_EQ(cost.subqueries.size(), 1u);
  EXPECT_EQ(cost.subqueries[0].evaluations, 2400);
  EXPECT_EQ(cost.subqueries[0].evaluations_per_tick, 120);
  EXPECT_EQ(cost.subquery_depth, 1);
  // The rate window is read 120 times per evaluation of the rule.
  EXPECT_GT(cost.work_ns, 120 * 6.3);
  EXPECT_EQ(
      CostOfExpr("max_over_time(avg_over_time(rate(a[1m])[5m:30s])[1h:1m]) > 1").subquery_depth, 2);
  EXPECT_EQ(CostOfExpr("a > 1").subquery_depth, 0);
}

TEST(RuleCost, CountsSharedWindowsOncePerFile) {
  const std::string two =
      File("avg_over_time(a[1m]) > 1") + "  - alert: B\n    expr: avg_over_time(a[1m]) > 2\n";
  const ProgramPtr program = Compile(two);
  const ProgramCost cost = EstimateCost(*program, {.series = 10});
  ASSERT_EQ(cost.rules.size(), 2u);
  ASSERT_EQ(cost.files.size(), 1u);
  EXPECT_EQ(cost.files[0].file, "p.yaml");
  EXPECT_EQ(cost.files[0].rules, 2u);
  EXPECT_EQ(cost.files[0].windows, 2u);  // the average window and the need
  EXPECT_LT(cost.total.state_bytes, 10 * 2 * cost.rules[0].state_bytes);
  EXPECT_GE(cost.total.state_bytes, 10 * cost.rules[0].state_bytes);
  // Each of the 10 series costs about 15 ns per second for the windows and 1 ns for each
  // comparison.
  EXPECT_NEAR(cost.total.cores, 10 * (9.6 + 2.3 + 2.3 + 1 + 2) * 1e-9, 1e-15);
}

TEST(RuleLimits, DefaultsAcceptOrdinaryRules) {
  for (const char* expr : {"avg_over_time(a[1h]) > 1", "quantile_over_time(0.9, a[10m]) > 1",
                           "max_over_time(rate(a[5m])[1h:1m]) > 1", "topk(5, rate(a[1m])) > 1"}) {
    EXPECT_THAT(Limited(expr, {}), IsEmpty());
  }
}

TEST(RuleLimits, ErrorNamesLimitEstimateAndRemedy) {
  EXPECT_EQ(Limited("avg_over_time(a[1m]) > 1", {.state_bytes_per_series = 100}),
            "p.yaml:6:11: error: the rule keeps about 952 B for each series, the limit "
            "state_bytes_per_series is 100 B; the most expensive window is avg_over_time of a over "
            "1m: sums, "
            "incremental, 60 panes of 1s a series: use a shorter window, a longer interval, or a "
            "recording "
            "rule over part of it, or raise rules.limits.state_bytes_per_series\n"
            "        expr: avg_over_time(a[1m]) > 1\n"
            "              ^~~~~~~~~~~~~~~~~~~~~~~~\n");
  EXPECT_THAT(
      Limited("mad_over_time(a[1m]) > 1", {.work_ns_per_series = 100}),
      HasSubstr("p.yaml:6:11: error: the rule needs about 375 ns for each series and "
                "evaluation, the limit work_ns_per_series is 100 ns; the most expensive window is "
                "mad_over_time of a over 1m: ordered, rescan"));
  EXPECT_THAT(Limited("max_over_time(rate(a[1m])[1m:1s]) > 1", {.subquery_depth = 1}), IsEmpty());
  EXPECT_THAT(
      Limited("max_over_time(max_over_time(rate(a[1m])[1m:1s])[1m:1s]) > 1", {.subquery_depth = 1}),
      HasSubstr("nests subqueries 2 deep, the limit subquery_depth is 1: use a recording "
                "rule for the inner ones"));
  EXPECT_THAT(
      Limited("max_over_time((sum by (x) (a) + b * 2)[4s:1ms]) > 1", {.work_ns_per_series = 3000}),
      HasSubstr("a subquery has 1000 evaluations between two of the rule: use a longer "
                "step of the subquery"));
}

TEST(RuleCost, LabelsGrowWithReplacement) {
  const auto bytes = [](std::string_view expr) { return CostOfExpr(expr).label_bytes; };
  EXPECT_EQ(bytes("a > 1"), 0);
  EXPECT_EQ(bytes("label_replace(a, 'y', '$1-$1', 'x', '(.*)') > 1"),
            65);  // two labels of 32 bytes each
  EXPECT_EQ(bytes("label_replace(a, 'y', '${1}$$', 'x', '(.*)') > 1"), 33);
  EXPECT_EQ(bytes("label_join(a, 'y', '--', 'x', 'z') > 1"), 66);
  // The result of each level is kept, so the total size is 64 + 128 + 256.
  EXPECT_EQ(bytes("label_replace(label_replace(label_replace(a, 'x', '$1$1', 'x', '(.*)'), 'x', "
                  "'$1$1', 'x', '(.*)'), 'x', '$1$1', 'x', '(.*)') > 1"),
            448);
  // Labels dropped by an aggregation do not grow further.
  EXPECT_EQ(bytes("label_join(sum by (z) (label_join(a, 'x', '', 'x', 'x')), 'y', '', 'x') > 1"),
            64 + 32);
  EXPECT_EQ(bytes("label_join(sum by (x) (label_join(a, 'x', '', 'x', 'x')), 'y', '', 'x') > 1"),
            64 + 64);
  EXPECT_EQ(bytes("max_over_time(label_join(a, 'x', '', 'x', 'x')[5m:1m]) > 1"), 64);
  const RuleCost cost = CostOfExpr("label_join(a, 'y', '', 'x') > 1");
  EXPECT_GT(cost.state_bytes, cost.label_bytes);
}

// These rules resemble a rule of 594 bytes that used 1 GiB for one series.
TEST(RuleLimits, RejectsNestedLabelFunctions) {
  std::string replaced = "a", joined = "a";
  for (int i = 0; i < 12; ++i) {
    replaced = Cat("label_replace(", replaced, ",'x','$1$1$1$1','x','(.*)')");
    joined = Cat("label_join(", joined, ",'x','','x','x','x','x')");
  }
  for (const std::string& expr : {replaced, joined}) {
    EXPECT_THAT(Limited(Cat(expr, " > 1"), {}),
                HasSubstr("the limit label_bytes_per_series is 64 KiB: use fewer nested "
                          "label_replace and label_join"));
    EXPECT_THAT(Limited(Cat("max_over_time((", expr, ")[1m:10s]) > 1"), {}),
                HasSubstr("label_bytes_per_series"));
  }
  EXPECT_THAT(Limited("label_replace(a, 'y', '$1', 'x', '(.*)') > 1", {}), IsEmpty());
}

TEST(RuleLimits, SetsLimitsByName) {
  RuleLimits limits;
  EXPECT_TRUE(SetLimit("subquery_depth=2", &limits).ok());
  EXPECT_TRUE(SetLimit("work_ns_per_series=7", &limits).ok());
  EXPECT_EQ(limits.subquery_depth, 2);
  EXPECT_EQ(limits.work_ns_per_series, 7);
  EXPECT_THAT(std::string(SetLimit("subquery_dept=2", &limits).message()),
              HasSubstr("did you mean \"subquery_depth\"?"));
  for (const char* bad :
       {"subquery_depth", "subquery_depth=", "subquery_depth=0", "subquery_depth=x"})
    EXPECT_FALSE(SetLimit(bad, &limits).ok()) << bad;
}

// A family without an entry in the table of measured work would have a cost of zero.
TEST(RuleCost, AllWindowFunctionsHaveCost) {
  for (const char* expr : {"sum_over_time(a[1m])",
                           "stddev_over_time(a[1m])",
                           "max_over_time(a[1m])",
                           "last_over_time(a[1m])",
                           "rate(a[1m])",
                           "irate(a[1m])",
                           "changes(a[1m])",
                           "ts_of_max_over_time(a[1m])",
                           "deriv(a[1m])",
                           "quantile_over_time(0.5, a[1m])",
                           "mad_over_time(a[1m])",
                           "double_exponential_smoothing(a[1m], 0.5, 0.5)",
                           "share_over_time(a[1m])",
                           "sketch_quantile_over_time(0.5, a[1m])",
                           "outlier_period_over_time(a[1m], 3)",
                           "event_period_over_time(a[1m], 3)",
                           "avg_over_time(a[first 5 samples])",
                           "outliers_over_time(a[1m], 3)",
                           "robust_deriv(a[1m])",
                           "kendall_tau_over_time(a[1m])",
                           "histogram_over_time(a[1m], 0, 1, 10)"}) {
    EXPECT_GT(CostOfExpr(Cat(expr, " > 1")).windows.at(0).ns_per_second, 0) << expr;
  }
}

TEST(RuleCost, FormatNanos_UsesLargestUnit) {
  EXPECT_EQ(FormatNanos(12.34), "12.3 ns");
  EXPECT_EQ(FormatNanos(4500), "4.5 us");
  EXPECT_EQ(FormatNanos(2e9), "2 s");
}

}  // namespace
}  // namespace pitwall::plan
