#include "services/app/config/rule_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rules/lang/files/include.h"
#include "rules/lang/files/rule_file.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

TEST(RuleFiles, ShippedPacks_Compile) {
  ASSERT_THAT(PackNames(), testing::Contains("starter"));
  std::vector<std::string> all;
  for (const std::string& name : PackNames()) {
    SCOPED_TRACE(name);
    all.push_back(Cat(kPackPrefix, name));
    const auto rules = ReadRuleSet({.files = {all.back()}}, plan::kDefaultInterval);
    ASSERT_TRUE(rules.ok()) << rules.status();
    ASSERT_GE(rules->files.size(), 1U);
    EXPECT_EQ(rules->files[0].name, name + ".yaml");
    const Status compiled = engine::CompiledRules::Accept(*rules).status();
    EXPECT_TRUE(compiled.ok()) << compiled;
  }
  const auto rules = ReadRuleSet({.files = all}, plan::kDefaultInterval);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const Status compiled = engine::CompiledRules::Accept(*rules).status();
  EXPECT_TRUE(compiled.ok()) << compiled;
}

TEST(RuleFiles, ShippedPack_UnknownName_SuggestsClosest) {
  const auto rules = ReadRuleSet({.files = {"pack:startre"}}, plan::kDefaultInterval);
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(ToStd(rules.status().message()),
            "pack \"startre\" not found (did you mean \"starter\"?)");
}

TEST(RuleFiles, ReadRuleSet_NoFiles_ReadsDefaultPack) {
  const auto rules = ReadRuleSet({}, plan::kDefaultInterval);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto same = ReadRuleSet({.files = {"pack:default"}}, plan::kDefaultInterval);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*rules, *same);
  EXPECT_EQ(rules->files[0].name, "default.yaml");
}

std::vector<std::string> AlertsOf(const std::vector<std::string>& files) {
  const auto rules = ReadRuleSet({.files = files}, plan::kDefaultInterval);
  EXPECT_TRUE(rules.ok()) << rules.status();
  const auto compiled = engine::CompiledRules::Accept(*rules);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  std::vector<std::string> names;
  for (const plan::DomainPlan& domain : (*compiled)->program()->domains) {
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) names.push_back(rule.name);
    }
  }
  return names;
}

TEST(RuleFiles, Include_SingleAlert_Compiles) {
  for (const std::string& pack : PackNames()) {
    const auto text = ShippedPack(pack);
    ASSERT_TRUE(text.ok());
    lang::Diagnostics diagnostics;
    const lang::RuleFilePtr parsed = lang::ParseRuleFile(text->name, text->text, &diagnostics);
    for (const lang::GroupText& group : parsed->groups) {
      for (const lang::RuleText& rule : group.rules) {
        if (!rule.alert) continue;
        SCOPED_TRACE(Cat(pack, "/", rule.name));
        const auto expanded = lang::ExpandIncludes(
            {{"one.yaml", Cat("include: [{pack: ", pack, ", alerts: [", rule.name, "]}]\n")}},
            ShippedPack);
        ASSERT_TRUE(expanded.ok()) << expanded.status();
        RuleSet set;
        set.files = expanded->files;
        lang::Diagnostics diagnostics;
        const Status compiled = engine::CompiledRules::Compile(set, {}, &diagnostics).status();
        ASSERT_TRUE(compiled.ok()) << compiled;
        EXPECT_EQ(diagnostics.ToString(), "");
      }
    }
  }
}

TEST(RuleFiles, ReadRuleSet_RuleInTwoPacks_IsEvaluatedOnce) {
  std::vector<std::string> both = AlertsOf({"pack:default", "pack:training"});
  std::sort(both.begin(), both.end());
  EXPECT_EQ(std::adjacent_find(both.begin(), both.end()), both.end());
  EXPECT_THAT(both, testing::Contains("training/stragglers/StragglerRank"));
  EXPECT_THAT(both, testing::Contains("training/checkpoints/CheckpointShare"));
}

TEST(RuleFiles, Baselines_Directory_ReadsNewestPerJob) {
  const std::string folder = Cat(testing::TempDir(), "/pitwall-runs-", ::getpid());
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  const auto write = [&](std::string_view name, std::string_view text) {
    std::ofstream(Cat(folder, "/", name)) << text;
  };
  for (int i = 0; i < 8; ++i) {
    write(Cat("a-", i, ".yaml"),
          Cat("run: a-", i, "\nended: ", i == 0 ? 99 : i, "\nmatch: {job: a}\nseries: []\n"));
  }
  write("b.yaml", "run: b\nended: 1\nmatch: {job: b}\nseries: []\n");
  write("notes.txt", "no summary");
  const auto rules = ReadRuleSet({.baselines = {folder}}, plan::kDefaultInterval);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(rules.ok()) << rules.status();
  std::vector<std::string> names;
  for (const RuleSetFile& file : rules->baselines) names.push_back(file.name);
  EXPECT_THAT(names, testing::ElementsAre("a-0.yaml", "a-4.yaml", "a-5.yaml", "a-6.yaml",
                                          "a-7.yaml", "b.yaml"));
  EXPECT_TRUE(engine::CompiledRules::Accept(*rules).status().ok());
}

// A killed writer or a full disk can leave behind a truncated file.
TEST(RuleFiles, Baselines_TruncatedSummaryInDirectory_IsSkipped) {
  const std::string folder = Cat(testing::TempDir(), "/pitwall-cut-", ::getpid());
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  std::ofstream(folder + "/a.yaml") << "run: a\nended: 1\nmatch: {jo";
  std::ofstream(folder + "/b.yaml") << "run: b\nended: 1\nmatch: {job: b}\nseries: []\n";
  std::ofstream(folder + "/c.yaml") << "";
  const auto rules = ReadRuleSet({.baselines = {folder}}, plan::kDefaultInterval);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->baselines.size(), 1u);
  EXPECT_EQ(rules->baselines[0].name, "b.yaml");
  EXPECT_TRUE(engine::CompiledRules::Accept(*rules).status().ok());
}

TEST(RuleFiles, Baselines_InvalidSummary_ErrorNamesFile) {
  const std::string path = Cat(testing::TempDir(), "/pitwall-run-", ::getpid(), ".yaml");
  std::ofstream(path) << "run: a\nmatches: {job: a}\n";
  const auto rules = ReadRuleSet({.baselines = {path}}, plan::kDefaultInterval);
  std::filesystem::remove(path);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_THAT(std::string(engine::CompiledRules::Accept(*rules).status().message()),
              testing::HasSubstr("unknown key \"matches\" in a summary"));
  EXPECT_TRUE(absl::IsNotFound(
      ReadRuleSet({.baselines = {"/no/such/run.yaml"}}, plan::kDefaultInterval).status()));
}

}  // namespace
}  // namespace pitwall
