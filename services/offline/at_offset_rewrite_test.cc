#include "services/offline/at_offset_rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/lang/printer.h"
#include "services/base/text/strings.h"

namespace pitwall::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

struct Rewritten {
  std::string expr;
  OtherTimes other;
  std::string error;
};

Rewritten Rewrite(std::string_view expr, std::string_view more = "",
                  std::optional<int64_t> start = std::nullopt) {
  const std::string text =
      Cat("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: '", expr, "'\n", more);
  lang::Diagnostics diagnostics;
  const auto file = lang::ParseRuleFile("r.yaml", text, &diagnostics);
  EXPECT_EQ(diagnostics.ToString(), "");
  Rewritten out;
  const Status status = RewriteOtherTimes({file}, start, std::nullopt, 60 * kSecond, &out.other);
  out.error = ToStd(status.message());
  out.expr = lang::Print(*file->groups[0].rules[0].expr.expr);
  return out;
}

TEST(OtherTimes, LiveRuleExpressionsAreUnchanged) {
  for (const char* expr : {"x offset 5m > 3", "rate({job=\"a\"}[5m])", "sum by (__name__) (x)"}) {
    const Rewritten got = Rewrite(expr);
    EXPECT_EQ(got.expr, expr);
    EXPECT_TRUE(got.other.empty());
    EXPECT_EQ(got.error, "");
  }
}

TEST(OtherTimes, NegativeOffsetReadsShiftedCopy) {
  const Rewritten got = Rewrite("x{a=\"1\"} offset -5m > x");
  EXPECT_EQ(got.expr, "{\"x offset -5m\",a=\"1\"} > x");
  ASSERT_EQ(got.other.copies.size(), 1U);
  EXPECT_EQ(got.other.copies[0].metric, "x");
  EXPECT_EQ(got.other.copies[0].ahead, 300 * kSecond);
  EXPECT_THAT(got.other.constants, IsEmpty());
  const std::pair<const char*, const char*> cases[] = {
      {"rate(x[5m] offset -1m) + rate(x[1m] offset -1m)",
       "rate({\"x offset -1m\"}[5m]) + rate({\"x offset -1m\"}[1m])"},
      {"max_over_time((x offset -1m)[10m:1m])", "max_over_time(({\"x offset -1m\"})[10m:1m])"},
      {"timestamp(x offset -1m)", "(timestamp({\"x offset -1m\"}) + 60)"},
      {"ts_of_max_over_time(x[2m] offset -1m)",
       "(ts_of_max_over_time({\"x offset -1m\"}[2m]) + 60)"},
      {"predict_linear(x[2m] offset -1m, 10)", "predict_linear({\"x offset -1m\"}[2m], (10 - 60))"},
      // The rewrite leaves these expressions unchanged, and the checker rejects them.
      {"max_over_time(x[10m:1m] offset -1m)", "max_over_time(x[10m:1m] offset -1m)"},
      {"avg_over_time(x[5 samples] offset -1m)", "avg_over_time(x[5 samples] offset -1m)"},
  };
  for (const auto& [written, expected] : cases) {
    EXPECT_EQ(Rewrite(written).expr, expected);
    EXPECT_LE(Rewrite(written).other.copies.size(), 1U);
  }
}

TEST(OtherTimes, FixedTimeIsEvaluatedOnce) {
  const Rewritten got =
      Rewrite("rate(x{a=\"1\"}[5m] @ 100 offset 10s) > 2 * rate(x{a=\"1\"}[5m] @ 90)");
  EXPECT_EQ(got.expr,
            "{\"rate(x{a=\\\"1\\\"}[5m]) @ 90 #1\"} > 2 * {\"rate(x{a=\\\"1\\\"}[5m]) @ 90 #1\"}");
  ASSERT_EQ(got.other.constants.size(), 1U);
  const OtherTimes::Constant& constant = got.other.constants[0];
  EXPECT_EQ(constant.expr, "rate(x{a=\"1\"}[5m])");
  EXPECT_EQ(constant.at, 90 * kSecond);
  EXPECT_EQ(constant.reach, 300 * kSecond);
  EXPECT_EQ(constant.lookback, 300 * kSecond);
  ASSERT_EQ(constant.selectors.size(), 1U);
  EXPECT_TRUE(constant.selectors[0].Matches({{"__name__", "x"}, {"a", "1"}}));

  const Rewritten nested = Rewrite("max_over_time(rate(x[1m] offset 2m)[10m:30s] @ 1000)");
  ASSERT_EQ(nested.other.constants.size(), 1U);
  EXPECT_EQ(nested.other.constants[0].reach, (60 + 120 + 600 + 30) * kSecond);
  EXPECT_EQ(Rewrite("x{a=\"1\"} @ 100").expr, "{\"x{a=\\\"1\\\"} @ 100 #1\",a=\"1\"}");
  EXPECT_EQ(Rewrite("x @ start()", "", 5 * kSecond).other.constants.at(0).at, 5 * kSecond);
  // The rewrite leaves these expressions unchanged, and the checker rejects them.
  for (const char* expr : {"predict_linear(x[5m] @ 100, 3)", "max_over_time((x @ 100)[5m:1m])",
                           "quantile_over_time(scalar(y), x[5m] @ 100)"}) {
    EXPECT_EQ(Rewrite(expr).expr, expr);
  }
}

TEST(OtherTimes, OtherSelectorsMustNotMatchGeneratedSeries) {
  EXPECT_THAT(
      Rewrite("x @ start()").error,
      HasSubstr("r.yaml:5:12: error: @ or a negative offset with start() requires --start"));
  EXPECT_THAT(Rewrite("{a=\"1\"} offset -1m").error, HasSubstr("requires a plain metric name"));
  EXPECT_THAT(Rewrite("count by (__name__) (x offset -1m)").error,
              HasSubstr("together with a selector on __name__"));
  EXPECT_THAT(Rewrite("x offset -1m", "  - record: x\n    expr: y\n").error,
              HasSubstr("on x, which these rules record"));
  EXPECT_THAT(Rewrite("x offset -1m", "  - record: y\n    expr: count({a=\"1\"})\n").error,
              HasSubstr("r.yaml:7:17: error: @ or a negative offset is not supported in a rule set "
                        "with this selector"));
}

}  // namespace
}  // namespace pitwall::offline
