#include "rules/alert/alert_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/alert/testing/alert_script.h"

namespace pitwall::alert {
namespace {

using testing::HasSubstr;
constexpr int64_t kSecond = 1'000'000'000;

TEST(AlertState, WithoutFor_FiresImmediately) {
  AlertScript s;
  s.Run({{0, "", ""},
         {10, "1=5", "found 1=5 since 10 fired 10 #1"},
         {20, "1=6 2=7", "found 2=7 since 20 fired 20 #1"},
         {30, "2=8", "resolved 1=6 since 10 fired 10 #2 cleared"},
         {40, "1=1 2=8", "found 1=1 since 40 fired 40 #1"},
         {50, "",
          "resolved 1=1 since 40 fired 40 #2 cleared; resolved 2=8 since 20 fired 20 #2 "
          "cleared"},
         {60, "", ""}});
}

TEST(AlertState, ForCountsFromFirstTick) {
  AlertScript s;
  s.rule.hold = Duration::Seconds(20);
  s.Run({{0, "1=5", "pending 1=5 since 0"},
         {10, "1=6", ""},
         {19, "1=6", ""},
         {20, "1=7", "found 1=7 since 0 fired 20 #1"},  // 20 >= 20 at this tick
         {30, "1=7", ""},
         {40, "", "resolved 1=7 since 0 fired 20 #2 cleared"},
         {50, "1=5", "pending 1=5 since 50"},
         {60, "", "dropped 1=5 since 50"},  // the next pending alert starts from zero
         {70, "1=5", "pending 1=5 since 70"},
         {100, "1=5", "found 1=5 since 70 fired 100 #1"}});
}

TEST(AlertState, KeepFiringForDelaysEnd) {
  AlertScript s;
  s.rule.hold = Duration::Seconds(10);
  s.rule.keep_firing = Duration::Seconds(20);
  s.Run({{0, "1=5", "pending 1=5 since 0"},
         {10, "1=5", "found 1=5 since 0 fired 10 #1"},
         {20, "", ""},
         {30, "", ""},
         {35, "1=9", ""},  // returns, so the count restarts
         {40, "", ""},
         {50, "", ""},
         {60, "", "resolved 1=9 since 0 fired 10 #2 cleared"},  // 60 - 40 is not < 20
         {70, "1=5", "pending 1=5 since 70"},
         {75, "", "dropped 1=5 since 70"}});  // applies to firing alerts only
}

TEST(AlertState, EndReasonDependsOnRemainingInput) {
  AlertScript s;
  s.Run(
      {{0, "1=5 2=5", "found 1=5 since 0 fired 0 #1; found 2=5 since 0 fired 0 #1", "1 2 3"},
       {10, "", "resolved 1=5 since 0 fired 0 #2 cleared; resolved 2=5 since 0 fired 0 #2 no_data",
        "1 3"}});
}

TEST(AlertState, EndReasonIsDeterminedAtEndTick) {
  AlertScript s;
  s.rule.keep_firing = Duration::Seconds(20);
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1", "1"},
         {10, "", "", "1"},
         {30, "", "resolved 1=5 since 0 fired 0 #2 no_data", ""}});
}

TEST(AlertState, HysteresisKeepsAlertUntilClear) {
  AlertScript s;
  s.Run({{0, "1=9", "found 1=9 since 0 fired 0 #1", "1", ""},
         {10, "", "", "1", ""},  // missing from expr and clear: between the thresholds
         {20, "1=9", "", "1", ""},
         {30, "", "", "1", ""},
         {40, "", "resolved 1=9 since 0 fired 0 #2 cleared", "1", "1=2"},
         {50, "1=9", "found 1=9 since 50 fired 50 #1", "1", "1=9"},      // expr overrides clear
         {60, "", "resolved 1=9 since 50 fired 50 #2 no_data", "", ""},  // no input on either side
         {70, "1=9", "found 1=9 since 70 fired 70 #1", "1", "", "1"},
         {80, "", "", "", "", "1"},  // clear has input, so it may become true
         {90, "", "resolved 1=9 since 70 fired 70 #2 no_data", "", "", ""}});
}

TEST(AlertState, HysteresisWithoutComparisonWaitsForClear) {
  AlertScript s;
  s.Run({{0, "1=9", "found 1=9 since 0 fired 0 #1", "-", ""},
         {10, "", "", "-", ""},
         {20, "", "resolved 1=9 since 0 fired 0 #2 cleared", "-", "1"}});
}

TEST(AlertState, KeepFiringForCountsWhileClearHolds) {
  AlertScript s;
  s.rule.keep_firing = Duration::Seconds(20);
  s.Run({{0, "1=9", "found 1=9 since 0 fired 0 #1", "1", ""},
         {10, "", "", "1", "1"},  // could end: the count starts
         {20, "", "", "1", ""},   // could not end: the count stops
         {30, "", "", "1", "1"},  // the count restarts
         {40, "", "", "1", "1"},
         {50, "", "resolved 1=9 since 0 fired 0 #2 cleared", "1", "1"}});
}

TEST(AlertState, ChangedBindingDoesNotAffectAlerts) {
  AlertScript s;
  s.other_binding_each_tick = true;
  s.rule.hold = Duration::Seconds(20);
  s.rule.keep_firing = Duration::Seconds(10);
  s.Run({{0, "1=5 3=1", "pending 1=5 since 0; pending 3=1 since 0", "1 2 3"},
         {10, "1=5 3=2", "", "1 2 3"},
         {20, "1=5", "found 1=5 since 0 fired 20 #1; dropped 3=2 since 0", "1 2 3"},
         {30, "", "", "1"},
         {40, "", "resolved 1=5 since 0 fired 20 #2 no_data", ""}});
}

TEST(AlertState, RuleLabelsOverrideElementLabelsButNotAlertname) {
  AlertScript s;
  s.rule.labels = {{"severity", "{{ if gt $value 90.0 }}critical{{ else }}warning{{ end }}"},
                   {"x", "{{ $labels.x }}0"},
                   {"gone", ""},
                   {"alertname", "ignored"}};
  s.rule.annotations = {{"summary", "x={{ $labels.x }} v={{ $value }} {{ $labels.__name__ }}"}};
  AlertState state = s.Make();
  const auto column = ColumnOfX({"1", "2"}, "a");
  const Elements e = Parse(column, "1=5 2=95");
  const eval::Vector v = e.View();
  AlertInput input;
  input.expr = &v;
  std::vector<Transition> out;
  ASSERT_TRUE(state.Step(input, &out).ok());
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].labels, Labels({{"alertname", "Hot"}, {"severity", "critical"}, {"x", "20"}}));
  EXPECT_EQ(out[1].labels, Labels({{"alertname", "Hot"}, {"severity", "warning"}, {"x", "10"}}));
  EXPECT_EQ(out[0].element, Labels({{"__name__", "a"}, {"x", "2"}}));
  EXPECT_EQ(out[0].Annotation("summary"), "x=2 v=95 a");
  EXPECT_EQ(out[0].Annotation("none"), "");
}

TEST(AlertState, FullLabelSetIdentifiesAlert) {
  // As in Prometheus, an alert with a different severity is a different alert: the old alert ends,
  // and the new one waits for its `for`.
  AlertScript s;
  s.rule.hold = Duration::Seconds(10);
  s.rule.labels = {{"severity", "{{ if gt $value 90.0 }}critical{{ else }}warning{{ end }}"}};
  s.Run({{0, "1=5", "pending 1=5 since 0"},
         {10, "1=5", "found 1=5 since 0 fired 10 #1"},
         {20, "1=95", "pending 1=95 since 20; resolved 1=5 since 0 fired 10 #2 cleared"},
         {30, "1=95", "found 1=95 since 20 fired 30 #1"},
         {40, "1=5", "resolved 1=95 since 20 fired 30 #2 cleared; pending 1=5 since 40"}});
}

TEST(AlertState, DuplicateLabels_FailWithoutEffect) {
  AlertScript s;
  s.rule.hold = Duration::Seconds(10);
  s.rule.labels = {{"x", "same"}};
  const std::string error =
      "vector contains metrics with the same labelset after applying alert labels";
  s.Run({{0, "1=5 2=6", error},
         {10, "1=5", "pending same=5 since 10"},
         {15, "1=5 2=6", error},
         {20, "1=6 2=6 3=6", error},
         {30, "2=7", "found same=7 since 10 fired 30 #1"},  // different element, same alert
         {40, "1=8 2=8", error},
         {50, "", "resolved same=7 since 10 fired 30 #2 cleared"}});
}

TEST(AlertState, ExceededLimits_FailWithoutEffect) {
  AlertScript s;
  s.limit = 2;
  s.Run({{0, "1 2", "found 1=1 since 0 fired 0 #1; found 2=1 since 0 fired 0 #1"},
         {10, "1 2 3", "exceeded limit of 2 with 3 alerts"},
         {20, "2 3", "resolved 1=1 since 0 fired 0 #2 cleared; found 3=1 since 20 fired 20 #1"}});
  AlertScript hard;
  hard.options.max_alerts = 1;
  hard.limit = 5;
  hard.rule.keep_firing = Duration::Seconds(100);
  hard.Run({{0, "1", "found 1=1 since 0 fired 0 #1"},
            {10, "2", "exceeded limit of 1 with 2 alerts"}});  // the kept alert counts
}

TEST(AlertState, ActiveReturnsPrometheusSeries) {
  AlertScript s;
  s.rule.hold = Duration::Seconds(10);
  s.rule.labels = {{"severity", "page"}};
  AlertState state = s.Make();
  EXPECT_TRUE(state.IsEmpty());
  const auto column = ColumnOfX({"1", "2"}, "a");
  std::vector<Transition> out;
  AlertInput input;
  Elements e = Parse(column, "2=5");
  eval::Vector v = e.View();
  input.expr = &v;
  input.at.position = Position::FromNs(1'500'000'000);
  ASSERT_TRUE(state.Step(input, &out).ok());
  e = Parse(column, "1=4 2=5");
  v = e.View();
  input.at.position = Position::FromNs(12 * kSecond);
  ASSERT_TRUE(state.Step(input, &out).ok());
  ASSERT_EQ(state.firing(), 1u);
  ASSERT_EQ(state.pending(), 1u);
  EXPECT_EQ(state.Active(0).alerts_series->ToString(),
            "ALERTS{alertname=\"Hot\",alertstate=\"pending\",severity=\"page\",x=\"1\"}");
  EXPECT_EQ(state.Active(1).alerts_series->ToString(),
            "ALERTS{alertname=\"Hot\",alertstate=\"firing\",severity=\"page\",x=\"2\"}");
  EXPECT_EQ(state.Active(1).for_state_series->ToString(),
            "ALERTS_FOR_STATE{alertname=\"Hot\",severity=\"page\",x=\"2\"}");
  EXPECT_EQ(state.Active(1).active_seconds, 1);  // Whole seconds.
  EXPECT_EQ(state.Active(1).value, 5);
  EXPECT_TRUE(state.Active(1).firing);
}

TEST(AlertState, LabelThatExpandsToEmpty_StaysUnexpandedInSeries) {
  AlertScript s;
  s.rule.labels = {{"team", "{{ $labels.team }}"}, {"x", "{{ $labels.team }}"}};
  AlertState state = s.Make();
  std::vector<Transition> out;
  const Elements e = Parse(ColumnOfX({"1"}, "a"), "1=5");
  const eval::Vector v = e.View();
  AlertInput input;
  input.expr = &v;
  ASSERT_TRUE(state.Step(input, &out).ok());
  EXPECT_EQ(state.Active(0).labels->ToString(), "{alertname=\"Hot\"}");
  EXPECT_EQ(state.Active(0).for_state_series->ToString(),
            "ALERTS_FOR_STATE{alertname=\"Hot\",team=\"{{ $labels.team }}\","
            "x=\"{{ $labels.team }}\"}");
}

TEST(AlertState, EndAllEndsFiringAndDropsPending) {
  AlertScript s;
  s.rule.hold = Duration::Seconds(10);
  AlertState state = s.Make();
  const auto column = ColumnOfX({"1", "2"}, "a");
  std::vector<Transition> out;
  AlertInput input;
  Elements e = Parse(column, "1=5");
  eval::Vector v = e.View();
  input.expr = &v;
  input.at.attempt = 3;
  ASSERT_TRUE(state.Step(input, &out).ok());
  e = Parse(column, "1=5 2=6");
  v = e.View();
  input.at.position = Position::FromNs(10 * kSecond);
  ASSERT_TRUE(state.Step(input, &out).ok());
  out.clear();
  EvalTime end;
  end.position = Position::FromNs(15 * kSecond);
  end.attempt = 4;
  state.EndAll(EndReason::kAttemptEnded, end, &out);
  EXPECT_EQ(AlertScript::Show(out),
            "resolved 1=5 since 0 fired 10 #2 attempt_ended; dropped 2=6 since 10");
  EXPECT_EQ(out[0].active.attempt, 3u);  // The attempt in which the alert started.
  EXPECT_EQ(out[0].at.position, Position::FromNs(15 * kSecond));
  EXPECT_TRUE(state.IsEmpty());
  out.clear();
  state.EndAll(EndReason::kJobEnded, end, &out);
  EXPECT_TRUE(out.empty());
  ASSERT_TRUE(state.Step(input, &out).ok());  // Starts again.
  EXPECT_EQ(out.size(), 2u);
}

TEST(AlertState, DamagedStateIsRejected) {
  AlertScript s;
  AlertState state = s.Make();
  const auto column = ColumnOfX({"1", "2"}, "a");
  const Elements e = Parse(column, "1=5 2=6");
  const eval::Vector v = e.View();
  AlertInput input;
  input.expr = &v;
  std::vector<Transition> out;
  ASSERT_TRUE(state.Step(input, &out).ok());
  BinaryWriter writer;
  state.Save(writer);
  const std::string good = writer.data();
  for (size_t cut = 0; cut < good.size(); ++cut) {
    AlertState other = s.Make();
    BinaryReader reader(std::string_view(good).substr(0, cut));
    other.Restore(reader);
    EXPECT_FALSE(reader.Finish("state").ok());
    EXPECT_TRUE(other.IsEmpty());
  }
  for (size_t i = 0; i < good.size(); ++i) {  // No byte may cause a crash.
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    AlertState other = s.Make();
    BinaryReader reader(bad);
    other.Restore(reader);
    other.Step(input, &out).IgnoreError();
  }
}

TEST(AlertRule, InvalidTemplate_ErrorNamesLocation) {
  plan::DomainPlan domain;
  domain.parameters = {{"r", "threshold", 1}};
  plan::Rule rule;
  rule.name = "p/g/A";
  rule.alert = "A";
  rule.file = "a.yaml";
  rule.line = 12;
  rule.annotations = {{"summary", "{{ $x }}"}};
  EXPECT_EQ(ToStd(AlertRule::Make(domain, rule, 0).status().message()),
            "a.yaml:12: rule p/g/A: annotation \"summary\": __alert_A:1:4: undefined variable "
            "\"$x\"");
  rule.annotations.clear();
  rule.labels = {{"l", "{{ $params.threshold }}"}};
  EXPECT_THAT(std::string(ToStd(AlertRule::Make(domain, rule, 0).status().message())),
              HasSubstr("label \"l\": the rule has no parameter \"threshold\""));
  rule.parameters = {0};
  EXPECT_TRUE(AlertRule::Make(domain, rule, 0).ok());
  rule.parameters = {1};
  EXPECT_FALSE(AlertRule::Make(domain, rule, 0).ok());
}

}  // namespace
}  // namespace pitwall::alert
