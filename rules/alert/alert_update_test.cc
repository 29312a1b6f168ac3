// Tests for updates of open alerts, subject lookups, and random input compared with a naive state
// machine.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "rules/alert/element_lookup.h"
#include "rules/alert/testing/alert_script.h"
#include "services/base/testing/random_seed.h"

namespace pitwall::alert {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(AlertUpdate, ChangedTextIsReportedAtMostOncePerMinute) {
  AlertScript s;
  s.rule.annotations = {{"summary", "{{ $value }}"}};
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1"},
         {30, "1=6", ""},
         {59, "1=7", ""},
         {60, "1=8", "updated 1=8 since 0 fired 0 #2"},
         {90, "1=9", ""},
         {120, "1=8", ""},  // the text equals the last reported text
         {121, "1=9", "updated 1=9 since 0 fired 0 #3"},
         {150, "", "resolved 1=9 since 0 fired 0 #4 cleared"}});
}

// The text is from the same tick as the value, even if the issue ends before the text can be
// reported.
TEST(AlertUpdate, FinalTextIsFromLastTickWithAlert) {
  AlertScript s;
  s.rule.annotations = {{"summary", "at {{ $value }}"}};
  s.rule.keep_firing = Duration::Seconds(20);
  for (const bool reload : {false, true}) {
    AlertState state = s.Make();
    const auto column = ColumnOfX({"1"}, "a");
    std::vector<Transition> out;
    for (const auto& [seconds, text] : std::vector<std::pair<int64_t, std::string>>{
             {0, "1=5"}, {10, "1=7"}, {20, ""}, {40, ""}}) {
      const Elements e = Parse(column, text);
      const eval::Vector v = e.View();
      AlertInput input;
      input.at.time = EventTime::FromNs(seconds * kSecond);
      input.at.position = PositionOf(input.at.time);
      input.expr = &v;
      ASSERT_TRUE(state.Step(input, &out).ok());
      if (reload && seconds == 20) {  // No tick has seen the alert with the new text.
        AlertScript other = s;
        other.rule.annotations = {{"summary", "now at {{ $value }}"}};
        state.SetRule(*AlertRule::Make(other.domain, other.rule, 0));
      }
    }
    EXPECT_EQ(AlertScript::Show(out.back()), "resolved 1=7 since 0 fired 0 #2 cleared");
    EXPECT_EQ(out.back().Annotation("summary"), "at 7");
  }
}

class OneSample final : public TemplateQueries {
 public:
  explicit OneSample(double value) : value_(value) {}
  StatusOr<std::shared_ptr<const std::vector<templates::QuerySample>>> Run(uint32_t) override {
    return std::make_shared<const std::vector<templates::QuerySample>>(
        std::vector<templates::QuerySample>{{Labels(), value_}});
  }

 private:
  double value_;
};

// Queries only run during the tick. Parameters survive a restore.
TEST(AlertUpdate, EndBetweenTicksKeepsText) {
  AlertScript s;
  s.rule.annotations = {
      {"asks", R"({{ query "q" | first | value }} {{ $value }})", {plan::NodeId(0)}}};
  AlertScript reads;
  reads.domain.parameters = {{"pack/group/Hot", "low", 3}};
  reads.rule.parameters = {0};
  reads.rule.annotations = {{"reads", "{{ $value }} over {{ $params.low }}", {}}};
  const auto column = ColumnOfX({"1"}, "a");
  for (const AlertScript* script : {&s, &reads}) {
    for (const bool restored : {false, true}) {
      AlertState state = script->Make();
      std::vector<Transition> out;
      const std::vector<double> parameters = {4};
      for (const auto& [seconds, text] :
           std::vector<std::pair<int64_t, std::string>>{{0, "1=5"}, {10, "1=7"}}) {
        const Elements e = Parse(column, text);
        const eval::Vector v = e.View();
        OneSample queries(static_cast<double>(100 + seconds));
        AlertInput input;
        input.at.time = EventTime::FromNs(seconds * kSecond);
        input.at.position = PositionOf(input.at.time);
        input.expr = &v;
        input.parameters = parameters;
        input.queries = &queries;
        ASSERT_TRUE(state.Step(input, &out).ok());
      }
      if (restored) {
        BinaryWriter saved;
        state.Save(saved);
        state = script->Make();
        BinaryReader in(saved.data());
        state.Restore(in);
        ASSERT_TRUE(in.ok());
      }
      state.EndAll(
          EndReason::kJobEnded,
          {.position = Position::FromNs(20 * kSecond), .time = EventTime::FromNs(20 * kSecond)},
          &out);
      EXPECT_EQ(out.back().kind, TransitionKind::kResolved);
      EXPECT_EQ(out.back().annotations.at(0).second, script == &s ? "100 5" : "7 over 4");
    }
  }
}

TEST(AlertUpdate, OpenAlertIsUpdatedEveryFiveMinutes) {
  AlertScript s;
  s.rule.annotations = {{"summary", "constant"}};
  s.rule.keep_firing = Duration::Seconds(1000);
  s.Run({{0, "1=5", "found 1=5 since 0 fired 0 #1"},
         {299, "1=6", ""},
         {300, "1=7", "updated 1=7 since 0 fired 0 #2"},
         {599, "1=8", ""},
         {601, "", "updated 1=8 since 0 fired 0 #3"},  // even while only kept firing
         {901, "1=1", "updated 1=1 since 0 fired 0 #4"}});
}

TEST(AlertUpdate, PendingAlertIsNotUpdated) {
  AlertScript s;
  s.rule.hold = Duration::Seconds(1000);
  s.rule.annotations = {{"summary", "{{ $value }}"}};
  s.Run({{0, "1=5", "pending 1=5 since 0"}, {400, "1=6", ""}, {800, "1=7", ""}});
}

TEST(AlertUpdate, ChangedRootCauseIsReported) {
  AlertScript s;
  s.domain.parameters = {{"rule", "limit", 10}};
  s.rule.parameters = {0};
  s.rule.annotations = {{"summary", "over {{ $params.limit }}"}};
  AlertState state = s.Make();
  const auto column = ColumnOfX({"1"}, "a");
  const Elements e = Parse(column, "1=50");
  const eval::Vector v = e.View();
  const auto step = [&](int64_t seconds, double limit) {
    AlertInput input;
    input.at.time = EventTime::FromNs(seconds * kSecond);
    input.at.position = PositionOf(input.at.time);
    input.expr = &v;
    input.parameters = {&limit, 1};
    std::vector<Transition> out;
    EXPECT_TRUE(state.Step(input, &out).ok());
    return out;
  };
  auto out = step(0, 10);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].Annotation("summary"), "over 10");
  EXPECT_FALSE(state.SetRootCause(Labels({{"x", "2"}}), "disk"));
  EXPECT_TRUE(state.SetRootCause(out[0].labels, "disk"));
  EXPECT_TRUE(step(30, 10).empty());
  out = step(60, 10);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].kind, TransitionKind::kUpdated);
  EXPECT_EQ(out[0].root_cause, "disk");
  EXPECT_TRUE(state.SetRootCause(out[0].labels, "disk"));  // No change.
  EXPECT_TRUE(state.SetRootCause(out[0].labels, "net"));
  EXPECT_TRUE(state.SetRootCause(out[0].labels, "switch", /*reported=*/true));  // Already reported.
  EXPECT_TRUE(step(130, 10).empty());
  // New annotations after a reload that kept the state.
  s.rule.annotations = {{"summary", "above {{ $params.limit }}"}};
  state.SetRule(*AlertRule::Make(s.domain, s.rule, 0));
  out = step(140, 20);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].Annotation("summary"), "above 20");
  EXPECT_EQ(out[0].sequence, 3u);
}

TEST(AlertUpdate, StepClockUsesEventTimeForUpdates) {
  AlertScript s;
  s.rule.annotations = {{"summary", "{{ $value }} at step {{ $step }}"}};
  AlertState state = s.Make();
  const auto column = ColumnOfX({"1"}, "a");
  const auto step = [&](int64_t at, int64_t time_s, const char* elements) {
    const Elements e = Parse(column, elements);
    const eval::Vector v = e.View();
    AlertInput input;
    input.at.step = Step(at);
    input.at.position = PositionOf(input.at.step);
    input.at.time = EventTime::FromNs(time_s * kSecond);
    input.expr = &v;
    std::vector<Transition> out;
    EXPECT_TRUE(state.Step(input, &out).ok());
    std::string text = AlertScript::Show(out);
    if (!out.empty()) CatTo(text, " [", out[0].Annotation("summary"), "]");
    return text;
  };
  EXPECT_EQ(step(100, 1000, "1=5"), "found 1=5 since 100 fired 100 #1 [5 at step 100]");
  EXPECT_EQ(step(500, 1030, "1=6"), "");  // 400 steps, half a minute
  EXPECT_EQ(step(501, 1060, "1=6"), "updated 1=6 since 100 fired 100 #2 [6 at step 501]");
  EXPECT_EQ(step(502, 1130, "1=6"), "");  // A new step alone is not a change.
  EXPECT_EQ(step(503, 1360, "1=6"), "updated 1=6 since 100 fired 100 #3 [6 at step 503]");
}

TEST(ElementLookup, FindsSourceElements) {
  const auto column =
      eval::LabelColumn::Of({Labels({{"__name__", "a"}, {"node", "1"}, {"gpu", "1"}}),
                             Labels({{"__name__", "a"}, {"node", "1"}, {"gpu", "2"}}),
                             Labels({{"__name__", "a"}, {"node", "2"}, {"gpu", "1"}})});
  Elements e = Absent(column);
  const auto present = [&](const Labels& labels) {
    ElementLookup lookup;
    return lookup.IsPresent(labels, e.View());
  };
  const Labels& there = (*column)[2];  // node 1, gpu 2
  e.present[2] = 1;
  EXPECT_TRUE(present(there));
  EXPECT_FALSE(present((*column)[0]));
  EXPECT_TRUE(present(there.DropName()));  // After arithmetic.
  EXPECT_FALSE(present((*column)[0].DropName()));
  EXPECT_TRUE(present(Labels({{"node", "1"}})));  // After on(node).
  EXPECT_FALSE(present(Labels({{"node", "2"}})));
  EXPECT_TRUE(present(there.With("model", "h200")));  // After group_left(model).
  EXPECT_TRUE(present(Labels()));
  EXPECT_TRUE(Agree(Labels({{"a", "1"}}), Labels({{"b", "2"}})));
  EXPECT_FALSE(Agree(Labels({{"a", "1"}, {"b", "1"}}), Labels({{"b", "2"}})));
}

// In `x / y < 1 or (z < 1 unless on () q)`, only one side has a metric name.
TEST(ElementLookup, ElementMayComeFromEitherOperandOfOr) {
  const Labels computed({{"x", "1"}}), named({{"__name__", "z"}, {"x", "1"}});
  for (const Labels& other : {named, Labels(), Labels({{"x", "1"}, {"node", "n"}})}) {
    Elements e = Absent(eval::LabelColumn::Of({computed, other, Labels({{"x", "2"}})}));
    e.present[static_cast<size_t>(e.column->Find(other))] = 1;
    ElementLookup own, any(ElementLookup::kAny);
    EXPECT_FALSE(own.IsPresent(computed, e.View()));
    EXPECT_TRUE(any.IsPresent(computed, e.View()));
    any.Reset();
    EXPECT_EQ(any.IsPresent(Labels({{"x", "2"}}), e.View()), other == Labels());
  }
}

TEST(LabelColumn, DetectsDifferentMetricNames) {
  const Labels one({{"__name__", "m"}, {"x", "1"}}), two({{"__name__", "m"}, {"x", "2"}});
  EXPECT_TRUE(eval::LabelColumn::Of({})->IsUniform());
  EXPECT_TRUE(eval::LabelColumn::Of({one, two})->IsUniform());
  EXPECT_FALSE(eval::LabelColumn::Of({one, two.DropName()})->IsUniform());
  EXPECT_FALSE(eval::LabelColumn::Of({one, Labels({{"__name__", "n"}, {"x", "2"}})})->IsUniform());
  EXPECT_FALSE(eval::LabelColumn::Of({one, two.With("node", "n")})->IsUniform());
}

// Reimplementation of Prometheus's Eval with maps, for the part of the life cycle that both
// implement.
class NaiveAlerts {
 public:
  NaiveAlerts(int64_t hold, int64_t keep) : hold_(hold), keep_(keep) {}
  std::map<std::string, std::string> Step(int64_t now, const std::map<std::string, double>& expr) {
    std::map<std::string, std::string> events;
    for (const auto& [x, value] : expr) {
      const auto [it, fresh] = active_.try_emplace(x);
      if (fresh) it->second.since = now;
      it->second.value = value;
    }
    for (auto it = active_.begin(); it != active_.end();) {
      auto& [x, a] = *it;
      const bool fresh = a.since == now && !a.known;
      a.known = true;
      if (expr.count(x) == 0) {
        bool keep = false;
        if (a.firing && keep_ > 0) {
          if (a.keep_since < 0) a.keep_since = now;
          keep = now - a.keep_since < keep_;
        }
        if (!keep) {
          events[x] = a.firing ? "resolved" : "dropped";
          it = active_.erase(it);
          continue;
        }
      } else {
        a.keep_since = -1;
      }
      if (!a.firing && now - a.since >= hold_) {
        a.firing = true;
        events[x] = "found";
      } else if (fresh) {
        events[x] = "pending";
      }
      ++it;
    }
    return events;
  }

 private:
  struct One {
    bool known = false, firing = false;
    int64_t since = 0, keep_since = -1;
    double value = 0;
  };
  int64_t hold_, keep_;
  std::map<std::string, One> active_;
};

TEST(AlertUpdate, RandomWalkMatchesPrometheusEval) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(Cat("PITWALL_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  size_t events = 0;
  for (int round = 0; round < 50; ++round) {
    AlertScript s;
    s.rule.hold = Duration::Seconds(static_cast<int64_t>(random() % 4) * 10);
    s.rule.keep_firing = Duration::Seconds(static_cast<int64_t>(random() % 4) * 10);
    s.options.min_update = s.options.max_update = Duration::Nanos(INT64_MAX);
    NaiveAlerts naive(s.rule.hold.ns(), s.rule.keep_firing.ns());
    AlertState state = s.Make();
    std::vector<std::string> xs;
    for (int i = 0; i < 20; ++i) xs.push_back(std::to_string(i));
    auto column = ColumnOfX(xs, "a");
    uint32_t on = 0;
    for (int64_t now = kSecond; now < 300 * kSecond; now += 5 * kSecond) {
      if (random() % 10 == 0) {  // A different set of series.
        std::vector<std::string> some;
        for (const std::string& x : xs) {
          if (random() % 8 != 0) some.push_back(x);
        }
        column = ColumnOfX(some, "a");
      }
      on ^= static_cast<uint32_t>(random() & random() & random());
      std::string text;
      std::map<std::string, double> expr;
      for (size_t i = 0; i < column->size(); ++i) {
        const std::string x((*column)[i].Get("x"));
        if ((on >> *ParseInt(x) & 1) == 0) continue;
        expr[x] = static_cast<double>(random() % 100);
        CatTo(text, x, "=", FormatDouble(expr[x]), " ");
      }
      const Elements e = Parse(column, text);
      const eval::Vector v = e.View();
      AlertInput input;
      input.at.time = EventTime::FromNs(now);
      input.at.position = PositionOf(input.at.time);
      input.expr = &v;
      std::vector<Transition> out;
      ASSERT_TRUE(state.Step(input, &out).ok());
      std::map<std::string, std::string> got;
      for (size_t i = 0; i < out.size(); ++i) {
        if (i > 0) {
          ASSERT_LT(out[i - 1].labels, out[i].labels);
        }
        got[std::string(out[i].labels.Get("x"))] = TransitionKindName(out[i].kind);
      }
      ASSERT_EQ(got, naive.Step(now, expr)) << "round " << round << " at " << now;
      events += got.size();
      if (random() % 5 == 0) {  // A crash.
        BinaryWriter writer;
        state.Save(writer);
        state = s.Make();
        BinaryReader reader(writer.data());
        state.Restore(reader);
        ASSERT_TRUE(reader.Finish("state").ok());
      }
    }
  }
  EXPECT_GT(events, 5000u);
}

}  // namespace
}  // namespace pitwall::alert
