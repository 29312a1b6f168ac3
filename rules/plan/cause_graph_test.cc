#include "rules/plan/cause_graph.h"

#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

// Returns the severity and message of each diagnostic of a new rule set, one per line.
std::string GraphErrors(std::string_view rules, bool is_new = true) {
  const RuleLimits limits;
  lang::Diagnostics diagnostics;
  const auto program = CompileRuleSet({.files = {{"g.yaml", std::string(rules)}},
                                       .evaluation_interval = Duration::Nanos(kDefaultInterval)},
                                      &diagnostics, {.limits = is_new ? &limits : nullptr});
  std::string out;
  for (const lang::Diagnostic& d : diagnostics.list()) {
    if (d.severity == lang::Severity::kError) CatTo(out, d.Header(), "\n");
  }
  EXPECT_EQ(program.ok(), out.empty()) << out;
  return out;
}

std::string AlertText(std::string_view name, std::string_view explains, std::string_view category) {
  return Cat("  - {alert: ", name, ", expr: m > 0, explains: [", explains,
             "], labels: {category: ", category, "}}\n");
}
constexpr char kGraphHead[] = "groups:\n- name: g\n  rules:\n";

TEST(CauseGraph, CycleIsErrorOnlyInNewRuleSets) {
  const std::string rules = Cat(kGraphHead, AlertText("A", "B, Unknown", "x"),
                                AlertText("B", "C", "x"), AlertText("C", "A", "x"));
  EXPECT_EQ(GraphErrors(rules),
            "g.yaml:6:40: error: \"explains\": a cycle of causes: A explains B explains C explains "
            "A; remove one of these relations, so that a root is left\n");
  EXPECT_EQ(GraphErrors(rules, /*is_new=*/false), "");
}

TEST(CauseGraph, TwoPathsToSymptom_NoError) {
  EXPECT_EQ(GraphErrors(Cat(kGraphHead, AlertText("A", "B, C", "x"), AlertText("B", "D", "x"),
                            AlertText("C", "D", "x"), AlertText("D", "", "x"))),
            "");
}

TEST(CauseGraph, RulesOfSameAlertShareNode) {
  // Alert B explains A, and the second rule of A explains B.
  EXPECT_NE(GraphErrors(Cat(kGraphHead, AlertText("A", "", "x"), AlertText("B", "A", "y"),
                            "  - {alert: A, expr: m > 1, explains: [B]}\n"))
                .find("a cycle of causes: A explains B explains A"),
            std::string::npos);
}

TEST(CauseGraph, EdgeAgainstCauseOrderIsError) {
  EXPECT_EQ(GraphErrors(Cat(kGraphHead, AlertText("Slow", "Nan", "straggler"),
                            AlertText("Nan", "", "numerics"))),
            "g.yaml:4:43: error: \"explains\": an alert of category straggler cannot explain Nan, "
            "which is of category numerics; remove it, or let the other alert explain this one\n");
  EXPECT_EQ(GraphErrors(Cat(kGraphHead, AlertText("Nan", "Slow", "numerics"),
                            AlertText("Slow", "", "straggler"))),
            "");
}

TEST(CauseGraph, LongChainIsWalkedWithoutRecursion) {
  std::string rules = kGraphHead;
  for (int i = 0; i < 3000; ++i) rules += AlertText(Cat("R", i), Cat("R", i + 1), "x");
  EXPECT_EQ(GraphErrors(rules), "");
}

}  // namespace
}  // namespace pitwall::plan
