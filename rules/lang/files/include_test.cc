#include "rules/lang/files/include.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/lang/files/rule_file.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

constexpr std::string_view kTraining = R"(groups:
- name: times
  clock: step
  rules:
  # Time that a step takes.
  - record: step:own
    expr: a - b
  - record: step:other
    expr: c
- name: slow
  rules:
  - alert: Slow
    expr: step:own > 1
    annotations:
      summary: '{{ query "step:shown" }}'
  - record: step:shown
    expr: step:base
  - alert: Other
    expr: step:other > 1
- name: last
  rules:
  - record: step:base
    expr: d
)";

StatusOr<RuleSetFile> IncludeTestPack(std::string_view name) {
  if (name == "training") return RuleSetFile{"training.yaml", std::string(kTraining)};
  if (name == "outer")
    return RuleSetFile{"outer.yaml",
                       "include:\n- {pack: training, alerts: [Other]}\ngroups:\n- name: o\n"
                       "  rules:\n  - {alert: Outer, expr: x}\n"};
  return NotFound(Cat("no pack ", Quote(name)));
}

std::vector<std::string> RulesOf(const RuleSetFile& file) {
  Diagnostics diagnostics;
  const RuleFilePtr parsed = ParseRuleFile(file.name, file.text, &diagnostics);
  EXPECT_EQ(diagnostics.ToString(), "") << file.text;
  std::vector<std::string> out;
  for (const GroupText& group : parsed->groups) {
    for (const RuleText& rule : group.rules)
      out.push_back(Cat(rule.position.line, " ", group.name, "/", rule.name));
  }
  return out;
}

std::string FailureOf(std::vector<RuleSetFile> files) {
  const auto expanded = ExpandIncludes(std::move(files), IncludeTestPack);
  return expanded.ok() ? "" : std::string(ToStd(expanded.status().message()));
}

TEST(Include, IncludedAlertAddsRecordingRulesAtOriginalLines) {
  const auto got =
      ExpandIncludes({{"team.yaml", "include:\n- pack: training\n  alerts: [Slow]\ngroups: []\n"}},
                     IncludeTestPack);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->files.size(), 2U);
  EXPECT_THAT(RulesOf(got->files[0]), testing::IsEmpty());
  EXPECT_THAT(got->files[0].text, testing::HasSubstr("#- pack: training\n"));
  EXPECT_EQ(got->files[1].name, "training.yaml");
  EXPECT_THAT(RulesOf(got->files[1]),
              testing::ElementsAre("6 times/step:own", "12 slow/Slow", "16 slow/step:shown",
                                   "22 last/step:base"));
  ASSERT_EQ(got->inclusions.size(), 1U);
  EXPECT_EQ(got->inclusions[0].by, "team.yaml");
}

TEST(Include, RuleIncludedByTwoFiles_AppearsOnce) {
  const auto got =
      ExpandIncludes({{"a.yaml", "include: [{pack: training, alerts: [Slow]}]\n"},
                      {"b.yaml", "include: [{pack: training, alerts: [Slow, Other]}]\n"}},
                     IncludeTestPack);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->files.size(), 3U);
  EXPECT_EQ(RulesOf(got->files[2]).size(), 6U);
}

TEST(Include, GivenPackAppearsOnceAndCompletely) {
  const auto got = ExpandIncludes({{"a.yaml", "include: [{pack: training, alerts: [Slow]}]\n"},
                                   {"training.yaml", std::string(kTraining)}},
                                  IncludeTestPack);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->files.size(), 2U);
  EXPECT_EQ(got->files[1].text, kTraining);
}

TEST(Include, WholePackIncludesItsIncludes) {
  const auto got = ExpandIncludes({{"a.yaml", "include: [{pack: outer}]\n"}}, IncludeTestPack);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->files.size(), 3U);
  EXPECT_THAT(RulesOf(got->files[1]), testing::ElementsAre("6 o/Outer"));
  EXPECT_THAT(RulesOf(got->files[2]), testing::ElementsAre("8 times/step:other", "18 slow/Other"));
}

TEST(Include, PartialPackDoesNotIncludeItsIncludes) {
  const auto got =
      ExpandIncludes({{"a.yaml", "include: [{pack: outer, alerts: [Outer]}]\n"}}, IncludeTestPack);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->files.size(), 2U);
  EXPECT_THAT(RulesOf(got->files[1]), testing::ElementsAre("6 o/Outer"));
}

TEST(Include, AnchorsOfBlankedRulesAreKept) {
  const PackSource packs = [](std::string_view) -> StatusOr<RuleSetFile> {
    return RuleSetFile{"p.yaml",
                       "groups:\n- name: g\n  rules:\n  - alert: A\n    params:\n"
                       "      n: &n {value: 1, unit: seconds, help: 'of } [two'}\n    expr: a\n"
                       "    explains: &two [C,\n      {alert: D, equal: [node]}]\n"
                       "    annotations:\n      description: &why >-\n        It \"said\"\n"
                       "        no: more.\n      summary: s\n"
                       "  - alert: B\n    params:\n      n: *n\n    expr: b > $n\n"
                       "    explains: *two\n    annotations:\n      description: *why\n"};
  };
  const auto got = ExpandIncludes({{"a.yaml", "include: [{pack: p, alerts: [B]}]\n"}}, packs);
  ASSERT_TRUE(got.ok()) << got.status();
  Diagnostics diagnostics;
  const RuleFilePtr parsed = ParseRuleFile("p.yaml", got->files[1].text, &diagnostics);
  ASSERT_EQ(diagnostics.ToString(), "") << got->files[1].text;
  ASSERT_EQ(parsed->groups[0].rules.size(), 1U);
  const RuleText& rule = parsed->groups[0].rules[0];
  ASSERT_EQ(rule.explains.size(), 2U);
  EXPECT_EQ(rule.explains[1].alert, "D");
  ASSERT_EQ(rule.parameters.size(), 1U);
  EXPECT_EQ(rule.parameters[0].help, "of } [two");
  ASSERT_EQ(rule.annotations.size(), 1U);
  EXPECT_EQ(rule.annotations[0].text(), "It \"said\" no: more.");
}

TEST(Include, FileGivenTwiceAppearsOnce) {
  const auto got = ExpandIncludes(
      {{"training.yaml", std::string(kTraining)}, {"training.yaml", std::string(kTraining)}},
      IncludeTestPack);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->files.size(), 1U);
}

TEST(Include, FileWithoutIncludesIsUnchanged) {
  for (const std::string_view text : {"groups: []\n# include nothing\n", "a: [", "- include\n"}) {
    const auto got = ExpandIncludes({{"a.yaml", std::string(text)}}, IncludeTestPack);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->files[0].text, text);
  }
}

TEST(Include, ErrorsHavePositions) {
  EXPECT_EQ(FailureOf({{"a.yaml", "groups: []\ninclude: [{pack: no}]\n"}}),
            "a.yaml:2:11: \"include\": no pack \"no\"");
  EXPECT_EQ(FailureOf({{"a.yaml", "include:\n- {pack: training, alerts: [Slo]}\n"}}),
            "a.yaml:2:3: \"include\": pack training has no alert \"Slo\" (did you mean \"Slow\"?)");
  EXPECT_THAT(FailureOf({{"a.yaml", "include: {pack: training}\n"}}),
              testing::HasSubstr("a.yaml:1:10: \"include\": expected a list of"));
  EXPECT_THAT(FailureOf({{"a.yaml", "include: [{alerts: [Slow]}]\n"}}),
              testing::HasSubstr("an include needs \"pack\""));
  EXPECT_THAT(FailureOf({{"a.yaml", "include: [{pack: training, alerts: []}]\n"}}),
              testing::HasSubstr("leave it out for the whole pack"));
  EXPECT_THAT(FailureOf({{"training.yaml", "include: [{pack: training}]\n"}}),
              testing::HasSubstr("a pack cannot include itself"));
  EXPECT_THAT(FailureOf({{"a.yaml", "include: [{pack: training, rules: [Slow]}]\n"}}),
              testing::HasSubstr("\"rules\""));
}

TEST(Include, ChangedCopyOfIncludedPackIsRejected) {
  EXPECT_EQ(FailureOf({{"a.yaml", "include: [{pack: training, alerts: [Slow]}]\n"},
                       {"mine/training.yaml", "groups: []\n"}}),
            "a.yaml:1:11: \"include\": the rules of pack training are also given as "
            "mine/training.yaml, with another text; rename that file and its changed alerts, or "
            "leave one of the two out");
}

}  // namespace
}  // namespace pitwall::lang
