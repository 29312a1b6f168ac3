#include "services/pitwall/rule_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/strings.h"

namespace pitwall {
namespace {

TEST(RuleFiles, EachShippedPackCompiles) {
  ASSERT_THAT(PackNames(), testing::Contains("starter"));
  std::vector<std::string> all;
  for (const std::string& name : PackNames()) {
    SCOPED_TRACE(name);
    all.push_back(Cat(kPackPrefix, name));
    const auto rules = ReadRuleSet({all.back()}, "", plan::kDefaultInterval);
    ASSERT_TRUE(rules.ok()) << rules.status();
    ASSERT_EQ(rules->files.size(), 1U);
    EXPECT_EQ(rules->files[0].name, name + ".yaml");
    const Status compiled = CheckNewRuleSet(*rules, {});
    EXPECT_TRUE(compiled.ok()) << compiled;
  }
  const auto rules = ReadRuleSet(all, "", plan::kDefaultInterval);
  ASSERT_TRUE(rules.ok()) << rules.status();
  const Status compiled = CheckNewRuleSet(*rules, {});
  EXPECT_TRUE(compiled.ok()) << compiled;
}

TEST(RuleFiles, AnUnknownPackIsNamedWithTheNearestOne) {
  const auto rules = ReadRuleSet({"pack:startre"}, "", plan::kDefaultInterval);
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(ToStd(rules.status().message()),
            "no pack \"startre\" is built in (did you mean \"starter\"?)");
}

TEST(RuleFiles, WithoutFilesItIsTheStarterPack) {
  const auto rules = ReadRuleSet({}, "", plan::kDefaultInterval);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->files.size(), 1U);
  EXPECT_EQ(rules->files[0].name, "starter.yaml");
}

}  // namespace
}  // namespace pitwall
