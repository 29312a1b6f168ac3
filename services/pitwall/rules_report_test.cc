#include "services/pitwall/rules_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/pitwall/config.h"
#include "services/pitwall/rule_files.h"

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

TEST(RulesReport, HasFindingsAndCosts) {
  lang::Diagnostics diagnostics;
  const auto program =
      plan::CompileRuleSet({{{"p.yaml", kRules}}, {}}, plan::kDefaultInterval, &diagnostics);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto json = nlohmann::json::parse(RulesReport(diagnostics, program->get(), {.series = 50}));
  EXPECT_EQ(json["series"], 50);
  ASSERT_EQ(json["rules"].size(), 2u);
  const auto& a = json["rules"][0];
  EXPECT_EQ(a["name"], "p/g/A");
  EXPECT_EQ(a["cost_class"], "incremental");
  EXPECT_EQ(a["subqueries"][0]["evaluations_per_window"], 30.0);
  EXPECT_GT(a["state_bytes_per_series"], 100);
  EXPECT_GT(a["work_ns_per_series"], 10);
  EXPECT_EQ(json["rules"][1]["cost_class"], "rescan");
  EXPECT_EQ(json["files"][0]["file"], "p.yaml");
  EXPECT_EQ(json["total"]["rules"], 2);
  bool warned = false;
  for (const auto& d : json["diagnostics"]) warned = warned || d["severity"] == "warning";
  EXPECT_TRUE(warned);
}

TEST(RulesReport, WithoutAProgramHasTheErrors) {
  lang::Diagnostics diagnostics;
  const auto program = plan::CompileRuleSet(
      {{{"p.yaml", "groups:\n- name: g\n  rules:\n  - {alert: A, expr: nope(x)}\n"}}, {}},
      plan::kDefaultInterval, &diagnostics);
  ASSERT_FALSE(program.ok());
  const auto json = nlohmann::json::parse(RulesReport(diagnostics, nullptr, {}));
  EXPECT_EQ(json["diagnostics"][0]["severity"], "error");
  EXPECT_EQ(json["diagnostics"][0]["line"], 4);
  EXPECT_FALSE(json.contains("rules"));
}

TEST(RuleLimits, AreReadFromTheConfigurationAndKeepNewRulesOut) {
  const auto config =
      ParseConfig("c.yaml", "rules: {limits: {state_bytes_per_series: 100, subquery_depth: 2}}\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rules.limits.state_bytes_per_series, 100);
  EXPECT_EQ(config->rules.limits.subquery_depth, 2);
  EXPECT_EQ(config->rules.limits.work_ns_per_series, plan::RuleLimits().work_ns_per_series);
  codec::RuleSet rules;
  rules.evaluation_interval_ns = plan::kDefaultInterval;
  rules.files.push_back({"p.yaml", kRules});
  EXPECT_TRUE(CheckNewRuleSet(rules, {}).ok());
  const Status refused = CheckNewRuleSet(rules, config->rules.limits);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("p.yaml:6:11: error: the rule keeps about"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the limit state_bytes_per_series is 100 B"));
  EXPECT_THAT(std::string(ParseConfig("c.yaml", "rules: {limits: {nope: 1}}").status().message()),
              HasSubstr("c.yaml:1:18"));
}

}  // namespace
}  // namespace pitwall
