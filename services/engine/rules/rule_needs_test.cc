#include "services/engine/rules/rule_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

class RuleNeedsTest : public testing::Test {
 protected:
  const plan::Rule& rule() const { return program_->domains[0].groups[0].rules[0]; }
  // Runs a tick at which these metrics have samples.
  void Tick(RuleNeeds* needs, const std::vector<std::string>& metrics) {
    tick_ += Duration::Seconds(1000);
    for (const std::string& metric : metrics) {
      const window::SeriesId ids[] = {*store_.Intern(Labels({{kMetricName, metric}}))};
      const double values[] = {1};
      ASSERT_TRUE(store_.Append({.position = tick_}, ids, values).ok());
    }
    store_.SealTo(tick_);
    store_.BeginTick(tick_);
    needs->Read(&store_.results());
  }

  plan::ProgramPtr program_ = ProgramForTest(R"rules(
groups:
- {name: g, interval: 1s, rules: [{alert: A, expr: "a > 1 and b > 1"}]}
)rules");
  window::SeriesStore store_{
      std::shared_ptr<const DemandSet>(program_, &program_->domains[0].demands), {}};
  Position tick_;
};

TEST_F(RuleNeedsTest, TimeClock_TickUpdatesNeeds) {
  RuleNeeds needs(rule(), /*on_steps=*/false);
  ASSERT_THAT(RuleNeeds::Names(rule()), ElementsAre("a", "b"));
  EXPECT_THAT(needs.met(), ElementsAre(0, 0));
  Tick(&needs, {"a", "b"});
  EXPECT_TRUE(needs.AllMet());
  Tick(&needs, {"b"});
  EXPECT_THAT(needs.met(), ElementsAre(0, 1));
}

TEST_F(RuleNeedsTest, StepClock_OnlyJudgeReportsAbsence) {
  RuleNeeds needs(rule(), /*on_steps=*/true);
  EXPECT_FALSE(needs.Judge([](std::string_view metric) { return metric == "a"; }));
  EXPECT_THAT(needs.met(), ElementsAre(1, 0));
  Tick(&needs, {"b"});
  EXPECT_THAT(needs.met(), ElementsAre(1, 1)) << "presence counts immediately, absence does not";
  EXPECT_FALSE(needs.Judge([](std::string_view) { return false; }));
  EXPECT_THAT(needs.met(), ElementsAre(0, 0));
}

TEST_F(RuleNeedsTest, DifferentNeeds_AreNotInherited) {
  const plan::ProgramPtr other = ProgramForTest(R"rules(
groups:
- {name: g, interval: 1s, rules: [{alert: A, expr: "a > 1 and c > 1"}]}
)rules");
  RuleNeeds before(rule(), false);
  Tick(&before, {"a", "b"});
  RuleNeeds same(rule(), false);
  same.Inherit(&before);
  EXPECT_TRUE(same.AllMet());
  RuleNeeds changed(other->domains[0].groups[0].rules[0], false);
  changed.Inherit(&same);
  EXPECT_FALSE(changed.AllMet());
}

}  // namespace
}  // namespace pitwall::engine
