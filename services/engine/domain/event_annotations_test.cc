// Tests for annotations that affect events. With `capture`, only the event that opens an issue
// requests a capture. With `onset`, the annotation value is the number of seconds since the onset,
// and events for an open issue contain the onset time.
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/program/counters.h"

namespace pitwall::engine {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Returns the issue events of these rules for m = values[i] at second i + 1.
std::vector<IssueEvent> EventsOf(std::string_view rules, const std::vector<double>& values) {
  const RuleSetFile file{"p.yaml", Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n", rules)};
  const auto program = plan::CompileRules({&file, 1});
  EXPECT_TRUE(program.ok()) << program.status();
  EngineCounters counters;
  ClockDomain runner(*program, 0, EngineOptions{}, &counters);
  runner.ticks().SetOrigin(Position::FromNs(kSecond));
  const std::vector<window::SeriesId> ids = {
      *runner.store()->Intern(Labels::FromPairs({{"__name__", "m"}}))};
  std::vector<IssueEvent> events;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t now = static_cast<int64_t>(i + 1) * kSecond;
    EXPECT_TRUE(runner.store()
                    ->Append({Position::FromNs(now), "s", "", i + 1, 0}, ids, {&values[i], 1})
                    .ok());
    EventSink out;
    runner.Evaluate({.position = Position::FromNs(now), .time = EventTime::FromNs(now)},
                    JobIdentity(), &out);
    for (IssueEvent& event : out.events) {
      if (event.type != EventType::kRuleStatus) events.push_back(std::move(event));
    }
  }
  return events;
}

TEST(CaptureAnnotation, OnlyFirstEventOfIssueRequestsCapture) {
  std::vector<std::string> lines;
  for (const IssueEvent& event : EventsOf("  - {alert: A, expr: m > 10, annotations: {capture: "
                                          "stacks, summary: 'at {{ $value }}'}}\n"
                                          "  - {alert: B, expr: m > 10}\n",
                                          {12, 13, 3})) {
    lines.push_back(
        Cat(event.alert, " ", EventTypeName(event.type).substr(17), " ", event.capture));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"A found stacks", "B found ", "A resolved ", "B resolved "}));
}

TEST(OnsetAnnotation, OnsetPrecedesTickByAnnotationValue) {
  std::vector<std::string> lines;
  for (const IssueEvent& event :
       EventsOf("  - {alert: A, expr: m > 1, annotations: {onset: value}}\n"
                "  - {alert: B, expr: m > 1}\n",
                {0, 0, 1.5, 0})) {
    lines.push_back(Cat(event.alert, " ", EventTypeName(event.type).substr(17), " ",
                        event.onset.ns() / (kSecond / 10)));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"A found 15", "B found 0", "A resolved 0", "B resolved 0"}));
}

TEST(OnsetAnnotation, ImplausibleValue_OnsetIsUnset) {
  for (const double value : {1e12, -1e300}) {
    const auto events =
        EventsOf("  - {alert: A, expr: abs(m) > 1, annotations: {onset: value}}\n", {value});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].onset, EventTime()) << value;
  }
}

}  // namespace
}  // namespace pitwall::engine
