#include "services/history/promapi/rule_groups.h"

#include <gtest/gtest.h>

namespace pitwall::promapi {
namespace {

TEST(RuleGroups, GroupsMatchRuleFiles) {
  RuleSet rules;
  rules.evaluation_interval = Duration::Seconds(15);
  rules.files.push_back({"dir/cpu.yaml", R"(groups:
- name: busy
  interval: 5s
  limit: 3
  labels: {team: a, severity: info}
  rules:
  - {alert: Busy, expr: 'x  > 5', for: 30s, keep_firing_for: 1m, labels: {severity: warning}, annotations: {summary: "is {{ $value }}"}}
  - {alert: Busy, expr: 'x > 9'}
  - {record: 'x:avg', expr: 'avg( x )'}
- name: other
  rules:
  - {alert: Odd, expr: 'rate(y[5m]) > 1'}
)"});
  rules.files.push_back({"broken.yaml", "groups: ["});
  const std::vector<RuleGroupInfo> groups = RuleGroupsOf(rules);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "cpu/busy");
  EXPECT_EQ(groups[0].file, "dir/cpu.yaml");
  EXPECT_EQ(groups[0].interval_seconds, 5);
  EXPECT_EQ(groups[0].limit, 3);
  ASSERT_EQ(groups[0].rules.size(), 3U);
  const RuleInfo& busy = groups[0].rules[0];
  EXPECT_EQ(busy.id, "cpu/busy/Busy");
  EXPECT_EQ(busy.query, "x > 5");
  EXPECT_EQ(busy.hold_seconds, 30);
  EXPECT_EQ(busy.keep_firing_seconds, 60);
  EXPECT_EQ(busy.labels, (Labels{{"severity", "warning"}, {"team", "a"}}));
  EXPECT_EQ(busy.annotations, (Labels{{"summary", "is {{ $value }}"}}));
  EXPECT_EQ(groups[0].rules[1].id, "cpu/busy/Busy#2");
  EXPECT_FALSE(groups[0].rules[2].alerting);
  EXPECT_EQ(groups[0].rules[2].query, "avg(x)");
  EXPECT_EQ(groups[1].interval_seconds, 15);
}

}  // namespace
}  // namespace pitwall::promapi
