#include "rules/plan/program/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"

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

TEST(Overrides, SelectsParametersPerJob) {
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
  const DomainPlan& domain = program.domains[0];
  ASSERT_EQ(domain.parameters.size(), 3U);
  EXPECT_EQ(domain.parameters[1].name, "high");
  // The same name in two rules refers to two different parameters.
  EXPECT_EQ(domain.groups[0].rules[1].parameters, std::vector<uint32_t>{2});
  const Labels vision{{"team", "vision"}, {"tier", "prod1"}};
  EXPECT_THAT(ParametersFor(program, domain, "uid-1", "bert", {}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ParametersFor(program, domain, "uid-1", "llama-7b", {}), ElementsAre(10, 2, 30));
  EXPECT_THAT(ParametersFor(program, domain, "llama-7b", "", {}), ElementsAre(10, 2, 30));
  EXPECT_THAT(ParametersFor(program, domain, "x", "llama-7b", vision), ElementsAre(100, 200, 30));
  EXPECT_THAT(ParametersFor(program, domain, "x", "y", Labels{{"team", "vision"}}),
              ElementsAre(1, 2, 3));
  EXPECT_NE(program.hash, (*CompileWith(""))->hash);
}

// Values set for one job override the file, separately for each rule and number.
TEST(Overrides, ValuesSetForJobTakePrecedence) {
  RuleSet rules{
      .files = {{"p.yaml", std::string(kParameterRules)}},
      .overrides = RuleSetFile{"overrides.yaml",
                               "jobs: [{match: {job: \"uid-*\"}, rules: {p/g/A: {low: 10, "
                               "high: 20}}}]"}};
  rules.job_parameters = {{"uid-1", "p/g/A", "low", 11},
                          {"uid-1", "p/g/B", "low", 0.3},
                          // The set contains a removed rule and a removed parameter.
                          {"uid-1", "p/g/B", "old", 7},
                          {"uid-1", "p/g/C", "low", 8}};
  const StatusOr<ProgramPtr> compiled = CompileRuleSet(rules);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Program& program = **compiled;
  const DomainPlan& domain = program.domains[0];
  EXPECT_THAT(ParametersFor(program, domain, "uid-1", "", {}), ElementsAre(11, 20, 0.3));
  EXPECT_THAT(ParametersFor(program, domain, "uid-2", "", {}), ElementsAre(10, 20, 3));
  // The job ID is compared exactly: it is neither a glob nor a name.
  EXPECT_THAT(ParametersFor(program, domain, "x", "uid-1", {}), ElementsAre(10, 20, 3));
  std::vector<ParameterSource> sources;
  (void)program.overrides->ParametersFor(domain, "uid-1", "", {}, &sources);
  EXPECT_THAT(sources, ElementsAre(ParameterSource::kSet, ParameterSource::kOverrides,
                                   ParameterSource::kSet));
  (void)program.overrides->ParametersFor(domain, "x", "", {}, &sources);
  EXPECT_THAT(sources,
              ElementsAre(ParameterSource::kRule, ParameterSource::kRule, ParameterSource::kRule));
  EXPECT_EQ(program.hash, RuleSetHash(rules));
}

TEST(Overrides, InvalidOverrides_ReportsErrorsWithPositions) {
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

constexpr std::string_view kVariantRules = R"(groups:
- name: g
  rules:
  - record: busy
    params: {window: 500, factor: 2, gpus: {value: '.*', unit: regex}}
    expr: $factor * avg_over_time(x{gpu=~$gpus}[$window samples])
  - record: far
    params: {factor: 4}
    expr: $factor * y
  - alert: A
    params: {limit: 1}
    expr: busy > $limit
)";

StatusOr<ProgramPtr> CompileVariants(std::string_view overrides) {
  return CompileRuleSet({.files = {{"p.yaml", std::string(kVariantRules)}},
                         .overrides = RuleSetFile{"overrides.yaml", std::string(overrides)}});
}

// An alert that reads a recording rule also exposes that rule's parameters.
TEST(Overrides, OverrideOfAlert_AppliesToRecordingRulesItReads) {
  const StatusOr<ProgramPtr> compiled =
      CompileVariants("jobs: [{match: {job: a}, rules: {p/g/A: {factor: 3, limit: 9}}}]");
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const DomainPlan& domain = (*compiled)->domains[0];
  // In order: busy's window, factor, and gpus; far's factor; and A's limit.
  EXPECT_THAT(ParametersFor(**compiled, domain, "a", "", {}), ElementsAre(500, 3, 0, 4, 9));
  const StatusOr<ProgramPtr> wrong =
      CompileVariants("jobs: [{match: {job: a}, rules: {p/g/far: {window: 3}}}]");
  EXPECT_EQ(ToStd(wrong.status().message()),
            "overrides.yaml:1:44: error: rule \"p/g/far\" has no parameter \"window\"; it is a "
            "parameter of p/g/busy");
}

TEST(Overrides, MatcherTextsAndWindowsCreateVariants) {
  const StatusOr<ProgramPtr> compiled = CompileVariants(R"(jobs:
- match: {job: "a*"}
  rules: {p/g/A: {window: 20}}
- match: {job: "*b"}
  rules: {p/g/busy: {gpus: "0|1", window: 30}}
- match: {job: c}
  rules: {p/g/A: {limit: 7}}
)");
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Overrides& overrides = *(*compiled)->overrides;
  EXPECT_THAT(overrides.BindingsFor("c", "", {}), ElementsAre());
  EXPECT_EQ(overrides.BindingsFor("a", "", {}),
            (lang::JobRegistry{{{"p/g/busy", "window"}, "20"}}));
  EXPECT_EQ(overrides.BindingsFor("ab", "", {}),
            (lang::JobRegistry{{{"p/g/busy", "gpus"}, "0|1"}, {{"p/g/busy", "window"}, "30"}}));
  EXPECT_EQ(overrides.AllBindings().size(), 2U);
  const StatusOr<ProgramPtr> variant =
      CompileRuleSet({.files = {{"p.yaml", std::string(kVariantRules)}}}, nullptr,
                     {.bindings = overrides.BindingsFor("ab", "", {})});
  ASSERT_TRUE(variant.ok()) << variant.status();
  const DomainPlan& domain = (*variant)->domains[0];
  const std::string& text = domain.nodes[domain.groups[0].rules[0].expr.index()].text;
  EXPECT_THAT(text, ::testing::HasSubstr("gpu=~\"0|1\""));
  EXPECT_THAT(text, ::testing::HasSubstr("[30 samples]"));
}

TEST(Overrides, InvalidTextsAndWindows_ReportsErrors) {
  for (const auto& [what, message] : std::vector<std::pair<std::string, std::string>>{
           {"window: 2.5", "must be a whole number of samples, at least 1"},
           {"window: many", "must be a number"},
           {"gpus: [0, 1]", "must be a string"}}) {
    const StatusOr<ProgramPtr> compiled =
        CompileVariants(Cat("jobs: [{match: {job: a}, rules: {p/g/A: {", what, "}}}]"));
    EXPECT_THAT(ToStd(compiled.status().message()), ::testing::HasSubstr(message));
  }
  std::string many = "jobs:\n";
  for (int i = 0; i <= 64; ++i)
    many += Cat("- {match: {job: j", i, "}, rules: {p/g/A: {window: ", i + 2, "}}}\n");
  EXPECT_THAT(ToStd(CompileVariants(many).status().message()),
              ::testing::HasSubstr("more than 64 overrides set a length in samples"));
}

}  // namespace
}  // namespace pitwall::plan
