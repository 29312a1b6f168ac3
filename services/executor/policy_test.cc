#include "services/executor/policy.h"

#include <gtest/gtest.h>

namespace pitwall::executor {
namespace {

TEST(Glob, Matches) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("*", "a/b/c"));
  EXPECT_TRUE(GlobMatches("crash/*", "crash/gpu/X"));
  EXPECT_TRUE(GlobMatches("*/NaN", "stability/loss/NaN"));
  EXPECT_TRUE(GlobMatches("a?c", "abc"));
  EXPECT_TRUE(GlobMatches("a*b*c", "axxbyyc"));
  EXPECT_TRUE(GlobMatches("*a*", "bab"));
  EXPECT_TRUE(GlobMatches("a", "a"));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_FALSE(GlobMatches("a", "ab"));
  EXPECT_FALSE(GlobMatches("a?", "a"));
  EXPECT_FALSE(GlobMatches("*/NaN", "stability/loss/NaN2"));
  EXPECT_FALSE(GlobMatches("crash/*", "xcrash/gpu"));
  // No exponential search.
  EXPECT_FALSE(GlobMatches("*a*a*a*a*a*a*a*a*a*a*b", std::string(10'000, 'a')));
}

IssueEvent Event(std::string rule, Labels labels = {}) {
  IssueEvent e;
  e.rule = std::move(rule);
  e.labels = std::move(labels);
  return e;
}

TEST(Judge, TheFirstPolicyThatMatchesHolds) {
  const Policy policies[] = {{"crash/gpu/*", PolicyMode::kOff, 1},
                             {"crash/*", PolicyMode::kLive, 2},
                             {"*", PolicyMode::kDryRun, 3}};
  EXPECT_EQ(Judge(policies, Event("crash/gpu/X")).mode, PolicyMode::kOff);
  EXPECT_EQ(Judge(policies, Event("crash/cpu/X")).mode, PolicyMode::kLive);
  EXPECT_EQ(Judge(policies, Event("crash/cpu/X")).grace_ns, 2);
  EXPECT_EQ(Judge(policies, Event("other")).mode, PolicyMode::kDryRun);
  EXPECT_EQ(Judge(policies, Event("crash/cpu/X")).why, "policy crash/*: live");
}

TEST(Judge, WithoutPolicyOnlyRulesThatAskAreTriedDry) {
  EXPECT_EQ(Judge({}, Event("a")).mode, PolicyMode::kOff);
  EXPECT_EQ(Judge({}, Event("a", Labels{{"action", "notify"}})).mode, PolicyMode::kOff);
  EXPECT_EQ(Judge({}, Event("a", Labels{{"action", "stop"}})).mode, PolicyMode::kDryRun);
}

}  // namespace
}  // namespace pitwall::executor
