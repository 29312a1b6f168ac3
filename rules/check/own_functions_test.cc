// Tests for the diagnostics of functions that extend PromQL (docs/functions.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/check/rule_set.h"
#include "rules/lang/files/rule_file.h"
#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

// Returns the errors and warnings about one alert expression, or "" if the expression is valid.
std::string CheckExpr(std::string_view expr) {
  CheckOptions options;
  options.default_interval = 60 * kSecond;
  options.default_lookback = 300 * kSecond;
  options.default_step_interval = kSecond;
  options.default_step_lookback = 1000 * kSecond;
  const std::string text =
      Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - alert: A\n    expr: |\n      ", expr,
          "\n");
  lang::Diagnostics diagnostics;
  CheckRuleSet({lang::ParseRuleFile("p.yaml", text, &diagnostics)}, options, &diagnostics);
  diagnostics.Sort();
  std::string reported;
  for (const lang::Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity != lang::Severity::kInfo) CatTo(reported, diagnostic.ToString(), "\n");
  }
  return reported;
}

TEST(OwnFunctions, ReportsInvalidCalls) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"peer_zscore(a, \"\")", "7:22: error: invalid label name in peer_zscore(): \"\""},
      {"peer_zscore(a, 1)",
       "7:22: error: expected type string in call to function \"peer_zscore\", got scalar"},
      {"peer_ratio(a, \"\")", "7:21: error: invalid label name in peer_ratio(): \"\""},
      {"peer_ratio(a, 1)",
       "7:21: error: expected type string in call to function \"peer_ratio\", got scalar"},
      {"peer_ratio(a[5m])",
       "7:18: error: expected type instant vector in call to function \"peer_ratio\", got range"},
      {"peer_ratio()", "expected at least 1 argument(s) in call to \"peer_ratio\", got 0"},
      {"peer_zscore()", "expected at least 1 argument(s) in call to \"peer_zscore\", got 0"},
      {"baseline_zscore(a)",
       "7:23: error: expected type range vector in call to function \"baseline_zscore\", got "
       "instant"},
      {"baseline_zscore(a[attempt])", "7:24: error: baseline_zscore() needs every sample"},
      {"baseline_zscore(a[5m], b, c)", "expected at most 2 argument(s)"},
      {"sum_over_time(a[first 2000 samples])",
       "7:22: error: a window of first samples has 1 to 1024 of them, since they are kept for the "
       "whole attempt, this one 2000"},
      {"share_over_time(a[10 samples])", "7:24: error: share_over_time() weighs by time"},
      {"share_over_time(a[first 10 samples])", "share_over_time() weighs by time"},
      {"outlier_period_over_time(a[5m], 0)",
       "7:39: error: outlier_period_over_time() wants a number of robust standard deviations "
       "greater "
       "than 0, found 0"},
      {"outlier_period_over_time(a[5m])", "expected 2 argument(s)"},
      {"outlier_period_over_time(a[attempt], 3)", "needs every sample of its window"},
      {"event_period_over_time(a[5m], 0)",
       "event_period_over_time() wants a number of seconds greater than 0, found 0"},
      {"block_quantile_over_time(a[5m], 0, 0.5, 1)",
       "7:39: error: block_quantile_over_time() wants a whole number of blocks from 1 to 64, found "
       "0"},
      {"block_quantile_over_time(a[5m], 2.5, 0.5, 1)", "from 1 to 64, found 2.5"},
      {"block_quantile_over_time(a[5m], 8, 1.5, 1)",
       "7:42: error: block_quantile_over_time() wants a quantile from 0 to 1, found 1.5"},
      {"block_quantile_over_time(a[5m], 8, 0.5, 9)",
       "7:47: error: block_quantile_over_time() wants a whole rank that is not above argument 2 "
       "(8), found 9"},
      {"block_quantile_over_time(a[5m], 8, 0.5, 0)", "wants a whole rank from 1 to 64, found 0"},
      {"block_quantile_over_time(a[5m], 8, 0.5, 1, 0)",
       "wants a whole number of samples for each block from 1 to 4096, found 0"},
      {"block_quantile_over_time(a[5m], 8, 0.5)", "expected at least 4 argument(s)"},
      {"block_quantile_over_time(a, 8, 0.5, 1)", "expected type range vector"},
      {"block_quantile_over_time(a[attempt], 8, 0.5, 1)", "needs every sample of its window"},
      {"outliers_over_time(a[5m], -1)",
       "7:33: error: outliers_over_time() wants a number of standard deviations that is not below "
       "0, found -1"},
      {"outliers_over_time(a[attempt], 3)", "needs every sample of its window"},
      {"longest_run_over_time(a)", "expected type range vector"},
      {"longest_run_over_time(a[attempt])", "needs every sample of its window"},
      {"robust_deriv(a[attempt])", "needs every sample of its window"},
      {"kendall_tau_over_time(a[attempt])", "needs every sample of its window"},
      {"robust_deriv(a[100h])", "robust_deriv keeps every sample of them, at most 4096"},
      {"histogram_over_time(a[5m], 0, 1, b)", "got instant vector"},
      {"histogram_over_time(a[5m], 0, scalar(b), 10)",
       "7:37: error: the width of histogram_over_time() must be a number: its buckets are "
       "created when the rule is loaded"},
      {"histogram_over_time(a[5m], Inf, 1, 10)",
       "7:34: error: histogram_over_time() needs a finite"},
      {"histogram_over_time(a[5m], 0, 0, 10)",
       "7:37: error: histogram_over_time() needs a bucket width greater than 0, found 0"},
      {"histogram_over_time(a[5m], 0, 1, 257)",
       "7:40: error: histogram_over_time() needs an integer number of bounds from 1 to 256, found "
       "257"},
      {"histogram_over_time(a[5m], 0, 1, 2.5)", "from 1 to 256, found 2.5"},
      {"histogram_over_time(a[5m], 1e18, 1, 10)",
       "7:40: error: bounds from 1000000000000000000 in steps of 1 are not different numbers"},
      {"histogram_over_time(a[5m], 1e308, 1e308, 2)", "are not different numbers"},
      {"histogram_over_time(a[attempt], 0, 1, 10)", "needs every sample of its window"},
      {"peer_histogram_distance(a, \"\")", "invalid label name in peer_histogram_distance(): \"\""},
      {"peer_histogram_distance(a[5m])", "got range vector"},
      {"histogram_distance(a)", "expected 2 argument(s) in call to \"histogram_distance\", got 1"},
      {"histogram_distance(a, b[5m])", "got range vector"},
  };
  for (const auto& [expr, reported] : kCases)
    EXPECT_THAT(CheckExpr(expr), HasSubstr(std::string(reported)));
}

TEST(OwnFunctions, AcceptsValidCalls) {
  for (const std::string_view expr :
       {"peer_zscore(a) > 3 and peer_zscore(rate(a[5m]), \"stage\", \"node\") > 3.5",
        "baseline_zscore(a[first 200 samples after 20]) > 3",
        "baseline_zscore(a[5m], avg by (rank) (b)) > 3 and baseline_zscore(rate(a[5m])[1h:1m]) > 3",
        "share_over_time(a[5m]) + share_over_time(a[attempt]) + share_over_time((a > bool "
        "1)[5m:1m])",
        "histogram_distance(rate(a[5m]), rate(a[first 500 samples]))",
        "outlier_period_over_time(a[500 samples], 3) + outlier_period_over_time(a[5m], scalar(b))",
        "event_period_over_time(a[500], 0.5) + event_period_over_time(a[5m], scalar(b))",
        "outliers_over_time(a[500 samples], 3) + outliers_over_time(a[5m], scalar(b))",
        "robust_deriv(a[5m]) + robust_deriv(a[50 samples]) + robust_deriv(rate(a[5m])[1h:1m])",
        "kendall_tau_over_time(a[5m]) + kendall_tau_over_time(a[first 5 samples])",
        "sum by (le) (histogram_over_time(a[5m], -1, 0.5, 2 ^ 8)) > 5",
        "peer_histogram_distance(histogram_over_time(a[50 samples], 0, 1, 10), \"node\") > 0.3",
        "histogram_quantile(0.9, histogram_over_time(rate(a[5m])[1h:1m], 0, 1, 10)) > 3",
        "quantile_over_time(0.75, a[first 500 samples]) + absent_over_time(a[first 5 samples])",
        "sum_over_time((peer_zscore(a) > bool 3.5)[10m:1m]) >= 3"}) {
    EXPECT_EQ(CheckExpr(expr), "") << expr;
  }
}

// histogram_over_time adds the label `le`, and functions that aggregate buckets remove the label.
TEST(OwnFunctions, TracksBucketLabel) {
  EXPECT_EQ(CheckExpr("sum by (le) (histogram_over_time(sum by (rank) (a)[1h:1m], 0, 1, 9)) > 1"),
            "");
  EXPECT_THAT(CheckExpr("sum by (le) (peer_histogram_distance(sum by (le, rank) (a))) > 0.5"),
              HasSubstr("the inner expression has no label \"le\""));
}

// These comparisons test for values that the functions never return.
TEST(OwnFunctions, TracksValueRanges) {
  for (const char* expr :
       {"kendall_tau_over_time(a[5m]) > 1", "kendall_tau_over_time(a[5m]) < -1",
        "outliers_over_time(a[5m], 3) < 0", "peer_histogram_distance(a) > 1",
        "histogram_distance(a, b) > 1", "histogram_over_time(a[5m], 0, 1, 9) < 0",
        "share_over_time(a[5m]) > 1"}) {
    EXPECT_THAT(CheckExpr(expr), HasSubstr("the alert can never fire: this is never true"));
  }
  for (const char* expr :
       {"kendall_tau_over_time(a[5m]) >= 1", "outliers_over_time(a[5m], 3) > 100",
        "peer_histogram_distance(a) >= 1", "robust_deriv(a[5m]) < -1e9"}) {
    EXPECT_EQ(CheckExpr(expr), "") << expr;
  }
}

}  // namespace
}  // namespace pitwall::check
