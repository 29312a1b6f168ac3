#include "rules/lang/files/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/lang/printer.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

std::shared_ptr<RuleFile> ParseFile(std::string_view text, Diagnostics* diagnostics) {
  return ParseRuleFile("p.yaml", text, diagnostics);
}

constexpr std::string_view kRules = R"(groups:
- name: g
  rules:
  - alert: A
    params: {names: {value: 'relu.*', unit: regex}, window: 500, limit: 7}
    expr: avg_over_time(x{tensor=~$names,rank="0"}[$window samples]) > $limit
  - alert: A
    params: {names: "12"}
    expr: x{tensor!=$names} > 1
)";

TEST(Parameters, MatcherTextsAndWindowLengthsAreSubstituted) {
  Diagnostics diagnostics;
  const auto file = ParseFile(kRules, &diagnostics);
  ASSERT_FALSE(diagnostics.HasErrors()) << diagnostics.ToStatus();
  std::vector<RuleText>& rules = file->groups[0].rules;
  EXPECT_EQ(Print(*rules[0].expr.expr),
            R"(avg_over_time(x{tensor=~"relu.*",rank="0"}[500 samples]) > $limit)");
  EXPECT_EQ(Print(*rules[1].expr.expr), R"(x{tensor!="12"} > 1)");
  EXPECT_TRUE(IsMatcherText(rules[0], "names"));
  EXPECT_FALSE(IsMatcherText(rules[0], "limit"));
  EXPECT_TRUE(IsSampleCount(rules[0], "window"));
  EXPECT_FALSE(IsSampleCount(rules[0], "names"));

  BindParameters({{{"p/g/A", "window"}, "20"}, {{"p/g/A#2", "names"}, "a\"b"}}, file.get());
  EXPECT_EQ(Print(*rules[0].expr.expr),
            R"(avg_over_time(x{tensor=~"relu.*",rank="0"}[20 samples]) > $limit)");
  EXPECT_EQ(rules[0].parameters[1].value, 20);
  EXPECT_EQ(Print(*rules[1].expr.expr), R"(x{tensor!="a\"b"} > 1)");
}

TEST(Parameters, InvalidWindowLengthBecomesZero) {
  Diagnostics diagnostics;
  const auto file = ParseFile(kRules, &diagnostics);
  for (const char* text : {"0", "2.5", "-1", "NaN", "1e12"}) {
    BindParameters({{{"p/g/A", "window"}, text}}, file.get());
    EXPECT_EQ(Print(*file->groups[0].rules[0].expr.expr),
              R"(avg_over_time(x{tensor=~"relu.*",rank="0"}[0 samples]) > $limit)")
        << text;
  }
}

TEST(Parameters, TextParameterOutsideMatcherIsRejected) {
  Diagnostics diagnostics;
  ParseFile("groups: [{name: g, rules: [{alert: A, params: {n: abc}, expr: x > $n}]}]",
            &diagnostics);
  EXPECT_THAT(ToStd(diagnostics.ToStatus().message()),
              ::testing::HasSubstr("parameter \"n\" must be a number, found \"abc\""));
}

}  // namespace
}  // namespace pitwall::lang
