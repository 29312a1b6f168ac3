#include "services/pitwall/rule_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/compiled_rules.h"

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(RuleDefinitions, AlertsWithWordsNeedsAndDefaults) {
  const auto rules = engine::CompiledRules::Compile({{{"a.yaml", R"(pack: p
groups:
- name: g
  interval: 10s
  rules:
  - record: x:sum
    expr: sum(x)
  - alert: High
    expr: y > $limit
    for: 30s
    parameters:
      limit: {default: 3, unit: celsius, help: What is allowed.}
    labels: {severity: warning}
    annotations:
      summary: y is {{ $value }}
      description: Some words.
      suggestion: Do this.
)"}}});
  ASSERT_TRUE(rules.ok()) << rules.status();
  const insights::RuleDefinitions all = RuleDefinitionsOf(*(*rules)->program());
  ASSERT_THAT(all, SizeIs(1));
  const insights::RuleDefinition& high = all.at("p/g/High");
  EXPECT_EQ(high.severity, "warning");
  EXPECT_EQ(high.summary, "y is {{ $value }}");
  EXPECT_EQ(high.description, "Some words.");
  EXPECT_EQ(high.suggestion, "Do this.");
  EXPECT_EQ(high.expression, "y > $limit");
  EXPECT_EQ(high.hold, "30s");
  EXPECT_THAT(high.needs, ElementsAre("y"));
  ASSERT_THAT(high.parameters, SizeIs(1));
  EXPECT_EQ(high.parameters[0].value, "3");
  EXPECT_EQ(high.parameters[0].unit, "celsius");
}

}  // namespace
}  // namespace pitwall
