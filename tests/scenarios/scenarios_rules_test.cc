// Rule sets change while issues of their rules are open (docs/time-model.md, section 9, scenario
// 16). Runs with every log.
#include <gmock/gmock.h>

#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct ScenarioRule {
  std::string alert, params, expression;
};
std::string Group(const std::string& head, const std::vector<ScenarioRule>& rules) {
  std::string text = Cat("- ", head, "\n  rules:\n");
  for (const ScenarioRule& rule : rules) {
    CatTo(text, "  - {alert: ", rule.alert, ", params: {", rule.params, "}, expr: '",
          rule.expression, "', annotations: {summary: '", rule.alert, " of ", rule.params, "'}}\n");
  }
  return text;
}
const std::string kTimes = "name: times\n  interval: 1s";
const std::string kMore = "name: more\n  interval: 1s";
const std::string kSteps = "name: steps\n  clock: step\n  interval: 1";

const ScenarioRule kRemoved{"Removed", "a: 0.5, b: 2", "hw_gpu_utilization_ratio < $a * $b"};
const ScenarioRule kRenamed{"Renamed", "c: 0.6", "hw_gpu_utilization_ratio < $c"};
const ScenarioRule kMoved{"Moved", "d: 0.7, e: 3, f: 4",
                          "hw_gpu_utilization_ratio < $d and hw_gpu_utilization_ratio < $e * $f"};
const ScenarioRule kChanged{"Changed", "g: 0.8", "hw_gpu_utilization_ratio < $g"};
const ScenarioRule kStays{"Stays", "h: 0.9", "hw_gpu_utilization_ratio < $h"};
const ScenarioRule kSlow{"Slow", "i: 0.1, j: 5", "train_step_duration_seconds > $i / $j"};
const ScenarioRule kSlower{"Slower", "k: 0.2", "train_step_duration_seconds > $k"};

// Formats "found times/Renamed c=0.6 | Renamed of c: 0.6", "resolved … rule_removed …".
std::vector<std::string> Formatted(const std::vector<IssueEvent>& events, EventType type) {
  std::vector<std::string> lines;
  for (const IssueEvent& e : events) {
    if (e.type != type) continue;
    std::string line = Cat(e.rule.substr(e.rule.find('/') + 1), " ", EndReasonName(e.end_reason));
    for (const auto& [name, value] : e.parameters) CatTo(line, " ", name, "=", FormatDouble(value));
    lines.push_back(Cat(line, " | ", e.summary));
  }
  return lines;
}

TEST_P(Scenario, S16_RulesWithOpenIssuesAreEdited) {
  const std::string before =
      Publish({.files = {{"a.yaml", Cat("groups:\n", Group(kTimes, {kRemoved, kRenamed, kStays}),
                                        Group(kSteps, {kSlow, kSlower}))},
                         {"b.yaml", Cat("groups:\n", Group(kMore, {kMoved, kChanged}))}}});
  ScenarioRule renamed = kRenamed, changed = kChanged;
  renamed.alert = "Other";
  changed.params = "g: 0.85";
  // The removed parameters were the first in the program, so the other parameters have moved up.
  const std::string after =
      Publish({.files = {{"a.yaml", Cat("groups:\n", Group(kTimes, {kStays, renamed, kMoved}))},
                         {"b.yaml", Cat("groups:\n", Group(kMore, {changed}))}}});
  const std::string last = Publish({.files = {{"a.yaml", "groups: []\n"}}});
  Plan plan(Base());
  plan.Play(Cat(R"(
collector@node-0 beats
rank-0(modes=train) beats
collector@node-0 sends hw_gpu_utilization_ratio=0.3 @1s..60s
rank-0 steps 0..59 train_step_duration_seconds=1 @1s
owner ticks @1s..60s
owner loads )",
                before, "\nowner loads ", after, " @20s\nowner loads ", last,
                " @40s  # no rules are left\nowner loads ", after, " @50s\n"));

  Write(plan.records);
  // The test replaces the owner every few records, including before, at, and after each change.
  options_.poll_records = 5;
  options_.snapshot_interval = Duration::Seconds(3);
  auto processor = Start();
  int64_t next_owner = 7;
  int owners = 1;
  for (int round = 1; !processor->CaughtUp(); ++round) {
    ASSERT_TRUE(processor->RunOnce(Duration::Millis(20)).ok());
    clock_.Advance(kSecond);
    if (const int64_t committed = processor->stats().commits.next_offset; committed >= next_owner) {
      next_owner = committed + 11;
      ++owners;
      processor = Start();
    }
    ASSERT_LT(round, 10'000);
  }
  EXPECT_GE(owners, 10);
  const auto events = Events();
  EXPECT_EQ(Encoded(events), Encoded(Reference()));

  const auto at = [&](int64_t from, int64_t to) {
    std::vector<IssueEvent> some;
    for (const IssueEvent& e : events) {
      const int64_t second = (e.time.ns() - Base()) / kSecond;
      if (second >= from && second <= to) some.push_back(e);
    }
    return some;
  };
  EXPECT_THAT(
      Formatted(at(0, 25), EventType::kIssueResolved),
      UnorderedElementsAre("times/Removed rule_removed a=0.5 b=2 | Removed of a: 0.5, b: 2",
                           "times/Renamed rule_removed c=0.6 | Renamed of c: 0.6",
                           "more/Moved rule_removed d=0.7 e=3 f=4 | Moved of d: 0.7, e: 3, f: 4",
                           "more/Changed rule_removed g=0.8 | Changed of g: 0.8",
                           "steps/Slow rule_removed i=0.1 j=5 | Slow of i: 0.1, j: 5",
                           "steps/Slower rule_removed k=0.2 | Slower of k: 0.2"));
  EXPECT_THAT(Formatted(at(20, 30), EventType::kIssueFound),
              UnorderedElementsAre("times/Other  c=0.6 | Other of c: 0.6",
                                   "times/Moved  d=0.7 e=3 f=4 | Moved of d: 0.7, e: 3, f: 4",
                                   "more/Changed  g=0.85 | Changed of g: 0.85"));
  EXPECT_THAT(
      Formatted(at(35, 49), EventType::kIssueResolved),
      UnorderedElementsAre("times/Stays rule_removed h=0.9 | Stays of h: 0.9",
                           "times/Other rule_removed c=0.6 | Other of c: 0.6",
                           "times/Moved rule_removed d=0.7 e=3 f=4 | Moved of d: 0.7, e: 3, f: 4",
                           "more/Changed rule_removed g=0.85 | Changed of g: 0.85"));
  EXPECT_EQ(Formatted(at(50, 60), EventType::kIssueFound).size(), 4U);
  EXPECT_THAT(Formatted(at(50, 60), EventType::kIssueResolved), IsEmpty());
  for (const char* alert : {"Removed", "Renamed", "Slow", "Slower"})
    EXPECT_EQ(LastStatus(events, alert), "Stopped") << alert;
  EXPECT_EQ(LastStatus(events, "Stays"), "IssuesFound");
}

}  // namespace
}  // namespace pitwall::scenarios
