// The annotation `capture`: the event with which an issue begins asks for it, and no other.
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/strings.h"
#include "services/engine/counters.h"
#include "services/engine/space_runner.h"

namespace pitwall::engine {
namespace {

TEST(CaptureAsked, ByTheFirstEventOfAnIssueOnly) {
  constexpr int64_t kSecond = 1'000'000'000;
  const RuleSetFile file{
      "p.yaml",
      "groups:\n- name: g\n  interval: 1s\n  rules:\n"
      "  - {alert: A, expr: m > 10, annotations: {capture: stacks, summary: 'at {{ $value }}'}}\n"
      "  - {alert: B, expr: m > 10}\n"};
  const auto program = plan::CompileRules({&file, 1});
  ASSERT_TRUE(program.ok()) << program.status();
  EngineCounters counters;
  SpaceRunner runner(*program, 0, EngineOptions{}, &counters);
  runner.SetOrigin(kSecond);
  const std::vector<window::SeriesId> ids = {
      *runner.store()->Intern(Labels::FromPairs({{"__name__", "m"}}))};
  std::vector<std::string> told;
  const std::vector<double> values = {12, 13, 3};
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t now = static_cast<int64_t>(i + 1) * kSecond;
    ASSERT_TRUE(runner.store()->Append({now, "s", "", i + 1, 0}, ids, {&values[i], 1}).ok());
    Outputs out;
    runner.Evaluate({.position = now, .time_ns = now}, JobIdentity(), &out);
    for (const IssueEvent& event : out.events) {
      if (event.type == EventType::kRuleStatus) continue;
      told.push_back(
          Cat(event.alert, " ", EventTypeName(event.type).substr(17), " ", event.capture));
    }
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"A found stacks", "B found ", "A resolved ", "B resolved "}));
}

}  // namespace
}  // namespace pitwall::engine
