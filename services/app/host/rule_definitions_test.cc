#include "services/app/host/rule_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(RuleDefinitions, RuleDefinitionsOf_Alert_IncludesTextNeedsAndDefaults) {
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
  const history::RuleDefinitions all = RuleDefinitionsOf(**rules);
  ASSERT_THAT(all, SizeIs(1));
  const history::RuleDefinition& high = all.at("p/g/High");
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
  EXPECT_EQ(high.parameters[0].now, "3");
  EXPECT_EQ(high.parameters[0].source, "rule");
}

TEST(RuleDefinitions, RuleDefinitionsOf_JobWithOverride_NamesSource) {
  RuleSet set{.files = {{"p.yaml", R"(
groups:
- name: g
  rules:
  - alert: High
    params: {limit: 3, low: 1, names: "a.*"}
    expr: y{x=~$names} > $limit - $low
    annotations: {description: "Above {{ $params.limit }}"}
)"}},
              .overrides = RuleSetFile{"o.yaml", R"(jobs:
- match: {job: "llama-*"}
  rules: {p/g/High: {limit: 4, low: 2, names: "b.*"}}
)"}};
  set.job_parameters = {{"job-1", "p/g/High", "limit", 0.3}};
  const auto program = plan::CompileRuleSet(set);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto shown = [&](std::string_view job, std::string_view name) {
    std::vector<std::string> out;
    for (const auto& one : RuleDefinitionsOf(**program, job, name).at("p/g/High").parameters)
      out.push_back(one.now + " " + one.source + " " + one.value);
    return out;
  };
  EXPECT_THAT(shown("job-1", "llama-7b"),
              ElementsAre("0.3 set 3", "2 overrides 1", R"("b.*" overrides "a.*")"));
  EXPECT_THAT(shown("job-2", "bert"), ElementsAre("3 rule 3", "1 rule 1", R"("a.*" rule "a.*")"));
  EXPECT_EQ(RuleDefinitionsOf(**program, "job-1").at("p/g/High").description, "Above 0.3");
}

}  // namespace
}  // namespace pitwall
