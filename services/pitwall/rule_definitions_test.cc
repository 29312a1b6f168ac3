#include "services/pitwall/rule_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(RuleDefinitions, AlertsWithWordsNeedsAndDefaults) {
  const RuleSetFile file{"p.yaml", R"(
groups:
- name: g
  interval: 10s
  rules:
  - record: x:sum
    expr: sum(x)
  - alert: High
    params: {limit: {value: 3, unit: celsius, help: What is allowed.}}
    expr: y > $limit
    for: 30s
    needs: [y]
    labels: {severity: warning}
    annotations: {summary: "y is {{ $value }}", description: "Above {{ $params.limit }}{{ if gt $value 5.0 }} by far{{ else }} a bit{{ end }} on {{ $labels.node }}.{{ range query \"y\" }} {{ .Value }}{{ end }}{{ with query \"y\" }}{{ if . }}x{{ end }}{{ else }}z{{ end }}", suggestion: Do this.}
)"};
  const auto rules = plan::CompileRules({&file, 1});
  ASSERT_TRUE(rules.ok()) << rules.status();
  const insights::RuleDefinitions all = RuleDefinitionsOf(**rules);
  ASSERT_THAT(all, SizeIs(1));
  const insights::RuleDefinition& high = all.at("p/g/High");
  EXPECT_EQ(high.severity, "warning");
  EXPECT_EQ(high.summary, "y is <value>");
  EXPECT_EQ(high.description, "Above 3 by far on <node>.");
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
