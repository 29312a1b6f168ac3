#include "services/engine/program/program_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ProgramCheckTest, NamesRulesThatCannotRun) {
  const plan::ProgramPtr compiled = ProgramForTest(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Fine, expr: "avg_over_time(m[60s]) > 1"}
  - alert: BadTemplate
    expr: m > 1
    annotations: {summary: "{{ $labels.gpu }}"}
  - {record: wide, expr: "max_over_time(m[5m])"}
  - {alert: WideClear, expr: m > 1, clear: "max_over_time(rate(m[1m])[3m:5s]) < 1"}
)rules");
  // rules/check already rejects windows that the store cannot serve, but a program may come from
  // elsewhere.
  plan::Program program = *compiled;
  program.domains[0].groups[0].rules[1].annotations[0].text = "{{ $labels.gpu | nosuch }}";
  for (Demand& demand : program.domains[0].demands.demands) {
    if (demand.range == 300 * kNanosPerSecond) demand.range *= 1000;
  }
  program.domains[0].subqueries[0].demands.demands[0].interval = 0;
  EXPECT_THAT(
      ProblemsOf(program),
      ElementsAre(HasSubstr("pack.yaml:7: rule pack/g/BadTemplate: annotation \"summary\": "),
                  HasSubstr("pack.yaml:10: rule pack/g/wide: "),
                  HasSubstr("pack.yaml:11: rule pack/g/WideClear: ")));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckProgram(program)));
  EXPECT_THAT(ProblemsOf(*ProgramForTest("groups: []")), IsEmpty());
}

}  // namespace
}  // namespace pitwall::engine
