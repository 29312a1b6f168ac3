#include "services/executor/policy.h"

#include <gtest/gtest.h>

namespace pitwall::executor {
namespace {

IssueEvent Event(std::string rule, Labels labels = {}) {
  IssueEvent e;
  e.rule = std::move(rule);
  e.labels = std::move(labels);
  return e;
}

TEST(Judge, FirstMatchingPolicyApplies) {
  const Policy policies[] = {{"crash/gpu/*", PolicyMode::kOff, 1},
                             {"crash/*", PolicyMode::kLive, 2},
                             {"*", PolicyMode::kDryRun, 3}};
  EXPECT_EQ(Judge(policies, Event("crash/gpu/X")).mode, PolicyMode::kOff);
  EXPECT_EQ(Judge(policies, Event("crash/cpu/X")).mode, PolicyMode::kLive);
  EXPECT_EQ(Judge(policies, Event("crash/cpu/X")).grace_ns, 2);
  EXPECT_EQ(Judge(policies, Event("other")).mode, PolicyMode::kDryRun);
  EXPECT_EQ(Judge(policies, Event("crash/cpu/X")).why, "policy crash/*: live");
}

TEST(Judge, WithoutPolicy_OnlyStopLabelGetsDryRun) {
  EXPECT_EQ(Judge({}, Event("a")).mode, PolicyMode::kOff);
  EXPECT_EQ(Judge({}, Event("a", Labels{{"action", "notify"}})).mode, PolicyMode::kOff);
  EXPECT_EQ(Judge({}, Event("a", Labels{{"action", "stop"}})).mode, PolicyMode::kDryRun);
}

}  // namespace
}  // namespace pitwall::executor
