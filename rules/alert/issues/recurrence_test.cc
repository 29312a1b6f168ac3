#include "rules/alert/issues/recurrence.h"

#include <gtest/gtest.h>

#include "rules/alert/alert_record.h"
#include "rules/alert/testing/alert_script.h"

namespace pitwall::alert {
namespace {

constexpr int64_t kOneSecond = 1'000'000'000;

AlertScript Unsteady(int64_t seconds) {
  AlertScript script;
  script.rule.unsteady = Duration::Seconds(seconds);
  return script;
}

TEST(Recurrence, EarlyReturn_IssueStaysOpenUntilClearForDuration) {
  AlertScript s = Unsteady(100);
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1"},
         {10, "", "resolved 1=5 since 0 fired 0 #2 cleared"},  // ends immediately
         {110, "1=6", "found 1=6 since 110 fired 110 #1"},     // within 100 s of the end
         {120, "", ""},
         {130, "1=7", ""},  // a return is not an issue of its own
         {140, "", ""},
         {230, "", ""},
         {240, "", "resolved 1=7 since 110 fired 110 #2 cleared"},
         // Clear for the full 100 s, so the next occurrence counts as the first.
         {250, "1=5", "found 1=5 since 250 fired 250 #1"},
         {260, "", "resolved 1=5 since 250 fired 250 #2 cleared"}});
}

TEST(Recurrence, LateReturn_IssueEndsImmediately) {
  AlertScript s = Unsteady(100);
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1"},
         {10, "", "resolved 1=5 since 0 fired 0 #2 cleared"},
         {111, "1=6", "found 1=6 since 111 fired 111 #1"},
         {120, "", "resolved 1=6 since 111 fired 111 #2 cleared"}});
}

TEST(Recurrence, EachAlertIsCountedSeparately) {
  AlertScript s = Unsteady(100);
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1"},
         {10, "2=5", "resolved 1=5 since 0 fired 0 #2 cleared; found 2=5 since 10 fired 10 #1"},
         {20, "1=5", "found 1=5 since 20 fired 20 #1; resolved 2=5 since 10 fired 10 #2 cleared"},
         {30, "", ""},
         {130, "", "resolved 1=5 since 20 fired 20 #2 cleared"}});
}

TEST(Recurrence, WaitStartsWhenKeepFiringEnds) {
  AlertScript s = Unsteady(50);
  s.rule.hold = Duration::Seconds(10);
  s.rule.keep_firing = Duration::Seconds(20);
  s.Run({{0, "1=5", "pending 1=5 since 0"},
         {10, "1=5", "found 1=5 since 0 fired 10 #1"},
         {20, "", ""},
         {40, "", "resolved 1=5 since 0 fired 10 #2 cleared"},
         {50, "1=5", "pending 1=5 since 50"},
         {60, "1=5", "found 1=5 since 50 fired 60 #1"},
         {70, "", ""},
         {90, "", ""},  // the end is due; the wait starts here
         {139, "", ""},
         {140, "", "resolved 1=5 since 50 fired 60 #2 cleared"}});
}

TEST(Recurrence, WithoutInput_EndsImmediately) {
  AlertScript s = Unsteady(100);
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1", "1"},
         {10, "", "resolved 1=5 since 0 fired 0 #2 cleared", "1"},
         {20, "1=5", "found 1=5 since 20 fired 20 #1", "1"},
         {30, "", "", "1"},
         {40, "", "resolved 1=5 since 20 fired 20 #2 no_data", ""},
         // An end caused by missing input is not stored.
         {50, "1=5", "found 1=5 since 50 fired 50 #1", "1"},
         {60, "", "resolved 1=5 since 50 fired 50 #2 cleared", "1"}});
}

TEST(Recurrence, HysteresisRestartsWaitWhenNotClear) {
  AlertScript s = Unsteady(30);
  s.Run({{0, "1=9", "found 1=9 since 0 fired 0 #1", "1", ""},
         {10, "", "resolved 1=9 since 0 fired 0 #2 cleared", "1", "1"},
         {20, "1=9", "found 1=9 since 20 fired 20 #1", "1", ""},
         {30, "", "", "1", "1"},
         {40, "", "", "1", ""},  // between the thresholds, so not clear
         {50, "", "", "1", "1"},
         {70, "", "", "1", "1"},
         {80, "", "resolved 1=9 since 20 fired 20 #2 cleared", "1", "1"}});
}

// Checks the summary of an intermittent alert in each event.
TEST(Recurrence, SummaryCountsReturns) {
  AlertScript s = Unsteady(100);
  s.rule.annotations = {{"summary", "hot", {}}, {"description", "so hot", {}}};
  s.options.min_update = Duration::Zero();
  AlertState state = s.Make();
  const eval::LabelColumnPtr column = ColumnOfX({"1"}, "a");
  std::vector<std::string> said;
  for (const auto& [seconds, text] : std::vector<std::pair<int64_t, std::string>>{
           {3723, "1"}, {3724, ""}, {3730, "1"}, {3740, ""}, {3750, "1"}, {3760, ""}, {3860, ""}}) {
    const Elements elements = Parse(column, text);
    const eval::Vector view = elements.View();
    AlertInput input;
    input.at.time = EventTime::FromNs(seconds * kOneSecond);
    input.at.position = PositionOf(input.at.time);
    input.expr = &view;
    std::vector<Transition> out;
    ASSERT_TRUE(state.Step(input, &out).ok());
    for (const Transition& t : out) {
      said.push_back(Cat(TransitionKindName(t.kind), " ", t.Annotation("summary")));
      EXPECT_EQ(t.Annotation("description"), "so hot");
    }
  }
  EXPECT_EQ(said, (std::vector<std::string>{"found hot", "resolved hot",
                                            "found Unsteady, 2 times since 01:02:03 UTC: hot",
                                            "updated Unsteady, 3 times since 01:02:03 UTC: hot",
                                            "resolved Unsteady, 3 times since 01:02:03 UTC: hot"}));
}

TEST(Recurrence, EndAllDropsStoredEnds) {
  AlertScript s = Unsteady(100);
  AlertState state = s.Make();
  const eval::LabelColumnPtr column = ColumnOfX({"1"}, "a");
  const auto step = [&](int64_t seconds, std::string_view text) {
    const Elements elements = Parse(column, text);
    const eval::Vector view = elements.View();
    AlertInput input;
    input.at.time = EventTime::FromNs(seconds * kOneSecond);
    input.at.position = PositionOf(input.at.time);
    input.expr = &view;
    std::vector<Transition> out;
    EXPECT_TRUE(state.Step(input, &out).ok());
    return AlertScript::Show(out);
  };
  step(0, "1");
  step(10, "");
  std::vector<Transition> out;
  EvalTime at;
  at.time = EventTime::FromNs(20 * kOneSecond);
  at.position = PositionOf(at.time);
  state.EndAll(EndReason::kAttemptEnded, at, &out);
  step(30, "1");
  EXPECT_EQ(step(40, ""), "resolved 1=1 since 30 fired 30 #2 cleared");
}

TEST(Recurrence, TooManyEnds_EvictsOldest) {
  Recurrence recurrence(Duration::Seconds(100));
  const auto labels = [](size_t i) { return Labels({{"x", Cat(i)}}); };
  std::string ends;
  {  // Saves the maximum number of ends, as another instance would.
    BinaryWriter out;
    out.U64(Recurrence::kMaxEnds);
    LabelsWriter writer(out);
    for (size_t i = 0; i < Recurrence::kMaxEnds; ++i) {
      writer.Write(labels(i));
      out.I64(kOneSecond);
      out.I64(0);
      out.U64(1);
    }
    ends = out.data();
  }
  BinaryReader in(ends);
  recurrence.Restore({}, in);
  ASSERT_TRUE(in.Finish("ends").ok());
  Alert one_more;
  one_more.labels = labels(Recurrence::kMaxEnds);
  recurrence.Begin(one_more, EventTime());
  recurrence.End(one_more, EventTime::FromNs(2 * kOneSecond));
  const auto times = [&](size_t i) {
    Alert alert;
    alert.labels = labels(i);
    recurrence.Begin(alert, EventTime::FromNs(3 * kOneSecond));
    return alert.returns.times;
  };
  EXPECT_EQ(times(0), 1u);
  EXPECT_EQ(times(1), 2u);
  EXPECT_EQ(times(Recurrence::kMaxEnds), 2u);
}

}  // namespace
}  // namespace pitwall::alert
