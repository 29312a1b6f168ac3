// Tests for issue events. The value and the evidence come from the same tick, and `fold` combines
// elements into one issue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/program/counters.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kEventSecond = 1'000'000'000;

class IssueEventsTest : public testing::Test {
 protected:
  static plan::ProgramPtr Compile(std::string_view keys, std::string_view expr = "m > 10") {
    const RuleSetFile file{
        "p.yaml", Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - {alert: A, expr: '", expr,
                      "', ", keys, "annotations: {summary: '{{ $labels.x }} at {{ $value }}'}}\n")};
    auto program = plan::CompileRules({&file, 1});
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? *program : nullptr;
  }
  void Start(plan::ProgramPtr program) {
    runner_ = std::make_unique<ClockDomain>(std::move(program), 0, EngineOptions{}, &counters_);
    runner_->ticks().SetOrigin(Position::FromNs(kEventSecond));
    for (const char* x : {"a", "b", "c"})
      ids_.push_back(*runner_->store()->Intern(Labels::FromPairs({{"__name__", "m"}, {"x", x}})));
  }
  static std::string Show(const IssueEvent& e) {
    std::string out = Cat(EventTypeName(e.type).substr(17), " ", e.labels.ToString(), " value ",
                          FormatDouble(e.value), " '", e.summary, "'");
    for (const Evidence& evidence : e.evidence) {
      CatTo(out, " ", evidence.name, evidence.labels.Get("x"), "=", FormatDouble(evidence.value));
    }
    if (e.end_reason != EndReason::kNone) CatTo(out, " ", EndReasonName(e.end_reason));
    return out;
  }
  static std::vector<std::string> Shown(const EventSink& out) {
    std::vector<std::string> shown;
    for (const IssueEvent& event : out.events) {
      if (event.type != EventType::kRuleStatus) shown.push_back(Show(event));
    }
    return shown;
  }
  std::vector<std::string> At(int64_t t, const std::vector<double>& row) {
    EXPECT_TRUE(
        runner_->store()
            ->Append({Position::FromNs(t * kEventSecond), "s", "", static_cast<uint64_t>(t), 0},
                     ids_, row)
            .ok());
    EventSink out;
    runner_->Evaluate({.position = Position::FromNs(t * kEventSecond),
                       .time = EventTime::FromNs(t * kEventSecond)},
                      JobIdentity(), &out);
    return Shown(out);
  }

  EngineCounters counters_;
  std::unique_ptr<ClockDomain> runner_;
  std::vector<window::SeriesId> ids_;
};

TEST_F(IssueEventsTest, ValueAndEvidenceComeFromSameTick) {
  Start(Compile("keep_firing_for: 2s, "));
  EXPECT_THAT(At(1, {12, 0, 0}),
              ElementsAre("found {alertname=\"A\",x=\"a\"} value 12 'a at 12' ma=12"));
  EXPECT_THAT(At(2, {13, 0, 0}), ElementsAre());
  EXPECT_THAT(At(3, {4, 0, 0}), ElementsAre());
  EXPECT_THAT(At(4, {5, 0, 0}), ElementsAre());
  // The summary shows the value at the last tick at which the condition was true. The value and the
  // evidence are current.
  EXPECT_THAT(At(5, {3, 0, 0}),
              ElementsAre("resolved {alertname=\"A\",x=\"a\"} value 3 'a at 13' ma=3 cleared"));
}

// An oscillating condition becomes true ten times but produces only two issues. The summary of the
// second issue contains the count.
TEST_F(IssueEventsTest, OscillatingElementBecomesOneFlappingIssue) {
  Start(Compile("unsteady: 10s, "));
  std::vector<std::string> lines;
  for (int64_t t = 1; t <= 40; ++t) {
    const double value = t <= 20 && t % 2 == 1 ? 12 : 0;
    for (const std::string& line : At(t, {value, 0, 0})) lines.push_back(Cat(t, " ", line));
  }
  EXPECT_THAT(
      lines, ElementsAre(
                 "1 found {alertname=\"A\",x=\"a\"} value 12 'a at 12' ma=12",
                 "2 resolved {alertname=\"A\",x=\"a\"} value 0 'a at 12' ma=0 cleared",
                 "3 found {alertname=\"A\",x=\"a\"} value 12 'Unsteady, 2 times since 00:00:01 "
                 "UTC: a at 12' ma=12",
                 "30 resolved {alertname=\"A\",x=\"a\"} value 0 'Unsteady, 10 times since 00:00:01 "
                 "UTC: a at 12' ma=0 cleared"));
}

TEST_F(IssueEventsTest, FoldedElementsAreOneIssue) {
  Start(Compile("fold: [x], labels: {severity: critical}, "));
  EXPECT_THAT(At(1, {0, 12, 15}),
              ElementsAre("found {alertname=\"A\",severity=\"critical\"} value 12 'b at 12 (and 1 "
                          "more)' firstb=12 worstc=15 count=2 elementb=12 elementc=15 mb=12"));
  EXPECT_THAT(At(2, {11, 0, 15}), ElementsAre());
  EXPECT_THAT(At(3, {0, 0, 20}), ElementsAre());
  EXPECT_THAT(
      At(4, {0, 1, 2}),
      ElementsAre("resolved {alertname=\"A\",severity=\"critical\"} value 2 'b at 12 (and 1 more)' "
                  "firstb=12 worstc=20 count=2 elementb=12 elementc=15 elementa=11 mc=2 cleared"));
}

TEST_F(IssueEventsTest, ChangedFoldIsDifferentRule) {
  Start(Compile(""));
  EXPECT_EQ(At(1, {12, 13, 0}).size(), 2u);
  EventSink out;
  const EvalTime at{.position = Position::FromNs(kEventSecond),
                    .time = EventTime::FromNs(kEventSecond)};
  runner_->Replace(Compile("fold: [x], "), 0, at, JobIdentity(), &out);
  EXPECT_THAT(
      Shown(out),
      ElementsAre("resolved {alertname=\"A\",x=\"a\"} value 12 'a at 12' ma=12 rule_removed",
                  "resolved {alertname=\"A\",x=\"b\"} value 13 'b at 13' mb=13 rule_removed"));
  EXPECT_EQ(At(2, {12, 13, 0}).size(), 1u);
  EventSink back;
  runner_->Replace(
      Compile(""), 0,
      {.position = Position::FromNs(2 * kEventSecond), .time = EventTime::FromNs(2 * kEventSecond)},
      JobIdentity(), &back);
  EXPECT_THAT(Shown(back),
              ElementsAre("resolved {alertname=\"A\"} value 12 'a at 12 (and 1 more)' firsta=12 "
                          "worstb=13 count=2 elementa=12 elementb=13 ma=12 rule_removed"));
}

}  // namespace
}  // namespace pitwall::engine
