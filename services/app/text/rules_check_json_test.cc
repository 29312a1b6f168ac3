#include "services/app/text/rules_check_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/app/config/config.h"
#include "services/app/config/rule_files.h"

namespace pitwall {
namespace {

using testing::HasSubstr;

constexpr char kRules[] =
    "groups:\n"
    "- name: g\n"
    "  interval: 10s\n"
    "  rules:\n"
    "  - alert: A\n"
    "    expr: max_over_time(rate(c[1m])[5m:10s]) > 1\n"
    "  - alert: B\n"
    "    expr: mad_over_time(hw_gpu_utilizaton_ratio[1m]) > 1\n";

TEST(RulesReport, RulesReport_ValidRules_IncludesFindingsAndCosts) {
  lang::Diagnostics diagnostics;
  const auto program = plan::CompileRuleSet({.files = {{"p.yaml", kRules}}}, &diagnostics);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::string json = RulesReport(diagnostics, program->get(), {.series = 50});
  for (const char* part :
       {R"({"diagnostics":[)", R"("severity":"warning","file":"p.yaml","line":8,"column":25,)",
        R"("series":50,"sample_interval":1,"rules":[{"name":"p/g/A","file":"p.yaml","line":5,)",
        R"("clock":"time","interval":10,"cost_class":"incremental","state_bytes_per_series":)",
        R"("windows":[{"text":"rate of c over 1m: counter, incremental, 6 panes of 10s a series",)",
        R"x("subqueries":[{"expr":"rate(c[1m])","step":10,"depth":1,"evaluations_per_window":30,)x",
        R"({"name":"p/g/B","file":"p.yaml","line":7,)", R"("cost_class":"rescan")",
        R"("files":[{"file":"p.yaml","rules":2,"windows":5,"state_bytes":)",
        R"("total":{"rules":2,)"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_EQ(json.back(), '}');
}

TEST(RulesReport, RulesReport_NoProgram_IncludesErrors) {
  lang::Diagnostics diagnostics;
  const auto program = plan::CompileRuleSet(
      {.files = {{"p.yaml", "groups:\n- name: g\n  rules:\n  - {alert: A, expr: nope(x)}\n"}}},
      &diagnostics);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(RulesReport(diagnostics, nullptr, {}),
            R"({"diagnostics":[{"severity":"error","file":"p.yaml","line":4,"column":22,)"
            R"("message":"unknown function with name \"nope\""}]})");
}

TEST(RuleLimits, ConfiguredLimit_NewRuleExceedsLimit_IsRejected) {
  const auto config =
      ParseConfig("c.yaml", "rules: {limits: {state_bytes_per_series: 100, subquery_depth: 2}}\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rules.limits.state_bytes_per_series, 100);
  EXPECT_EQ(config->rules.limits.subquery_depth, 2);
  EXPECT_EQ(config->rules.limits.work_ns_per_series, plan::RuleLimits().work_ns_per_series);
  RuleSet rules;
  rules.evaluation_interval = Duration::Nanos(plan::kDefaultInterval);
  rules.files.push_back({"p.yaml", kRules});
  EXPECT_TRUE(engine::CompiledRules::Accept(rules).ok());
  const Status refused =
      engine::CompiledRules::Accept(rules, {.limits = &config->rules.limits}).status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("p.yaml:6:11: error: the rule keeps about"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the limit state_bytes_per_series is 100 B"));
  EXPECT_THAT(std::string(ParseConfig("c.yaml", "rules: {limits: {nope: 1}}").status().message()),
              HasSubstr("c.yaml:1:18"));
}

}  // namespace
}  // namespace pitwall
