#include "rules/plan/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/strings.h"

namespace pitwall::plan {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kParameterRules = R"(groups:
- name: g
  rules:
  - alert: A
    params: {low: 1, high: 2}
    expr: a > $low and a < $high
  - alert: B
    params: {low: 3}
    expr: b > $low
)";

StatusOr<ProgramPtr> CompileWith(std::string_view overrides) {
  return CompileRuleSet({.files = {{"p.yaml", std::string(kParameterRules)}},
                         .overrides = RuleSetFile{"overrides.yaml", std::string(overrides)}});
}

TEST(Overrides, ParametersPerJob) {
  const StatusOr<ProgramPtr> compiled = CompileWith(R"(jobs:
- match: {job: "llama-*"}
  rules:
    p/g/A: {low: 10}
    p/g/B: {low: 30}
- match: {team: vision, tier: "prod?"}
  rules:
    p/g/A: {low: 100, high: 200}
)");
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Program& program = **compiled;
  const Space& space = program.spaces[0];
  ASSERT_EQ(space.parameters.size(), 3U);
  EXPECT_EQ(space.parameters[1].name, "high");
  // The same name in two rules is two parameters.
  EXPECT_EQ(space.groups[0].rules[1].parameters, std::vector<uint32_t>{2});
  const Labels vision{{"team", "vision"}, {"tier", "prod1"}};
  EXPECT_THAT(ParametersFor(program, space, "uid-1", "bert", {}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ParametersFor(program, space, "uid-1", "llama-7b", {}), ElementsAre(10, 2, 30));
  EXPECT_THAT(ParametersFor(program, space, "llama-7b", "", {}), ElementsAre(10, 2, 30));
  EXPECT_THAT(ParametersFor(program, space, "x", "llama-7b", vision), ElementsAre(100, 200, 30));
  EXPECT_THAT(ParametersFor(program, space, "x", "y", Labels{{"team", "vision"}}),
              ElementsAre(1, 2, 3));
  EXPECT_NE(program.hash, (*CompileWith(""))->hash);
}

TEST(Overrides, MistakesAreFound) {
  const StatusOr<ProgramPtr> compiled = CompileWith(R"(jobs:
- match: {job: x}
  rules:
    p/g/AA: {low: 10}
    p/g/B: {lov: 30, low: many}
- rules: {}
other: 1
)");
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(ToStd(compiled.status().message()),
            "overrides.yaml:4:5: error: unknown rule \"p/g/AA\" (did you mean \"p/g/A\"?)\n"
            "overrides.yaml:5:13: error: rule \"p/g/B\" has no parameter \"lov\" (did you mean "
            "\"low\"?)\n"
            "overrides.yaml:5:27: error: parameter \"low\" must be a number\n"
            "overrides.yaml:6:3: error: an override needs \"match\": job, or labels of the job\n"
            "overrides.yaml:7:1: error: unknown key \"other\" in the overrides file");
  EXPECT_FALSE(CompileWith("jobs: {").ok());
}

}  // namespace
}  // namespace pitwall::plan
