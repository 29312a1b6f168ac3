// The scenarios of time-model.md, section 9, in which ranks do not step in sync. Each scenario runs
// with every log and is compared with its replay.
#include <gmock/gmock.h>

#include "services/base/time.h"
#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

const std::string kRules = Cat("groups:\n", EachStep("train", R"(
  - {alert: NotFinite, expr: "train_step_duration_seconds != train_step_duration_seconds"}
)"),
                               EachStep("eval", R"(
  - {alert: SlowEval, expr: "train_step_duration_seconds > 5"}
)"));

std::vector<std::string> Found(const std::vector<IssueEvent>& events) {
  std::vector<std::string> found;
  for (const IssueEvent& event : events) {
    if (event.type == EventType::kIssueFound)
      found.push_back(Cat(event.alert, " rank ", event.labels.Get("rank"), " step ", event.step));
  }
  return found;
}

TEST_P(Scenario, S19_OneRankHasFewerInputsAndStaysAlive) {
  Plan plan(Base());
  plan.Play(R"(
rank-0..1(modes=train) beats
rank-0 steps 0..149 train_step_duration_seconds=1 @1s
rank-0 steps 150..299 train_step_duration_seconds=NaN @151s
rank-1 steps 0..99 train_step_duration_seconds=1 @1s
rank-1 beats @101s..300s
owner ticks @1s..300s
)");
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("NotFinite rank 0 step 150"));
  EXPECT_EQ(Dropped(Drop::kLateStep), 0u);
}

TEST_P(Scenario, S20_OneRankAbandonsAMode) {
  std::string script = "rank-0..1(modes=train,eval) beats\n";
  int train = 0;
  for (int second = 1; second <= 300; ++second) {
    if (second % 4 != 0)
      CatTo(script, "rank-0..1 steps ", train++, " train_step_duration_seconds=1 @", second, "s\n");
  }
  Plan plan(Base());
  plan.Play(Cat(script, R"(
rank-0 steps 0..39 of eval train_step_duration_seconds=1 @4s every 4s
rank-0 steps 40..74 of eval train_step_duration_seconds=9 @164s every 4s
rank-1 steps 0..4 of eval train_step_duration_seconds=1 @4s every 4s
owner ticks @1s..300s
)"));
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("SlowEval rank 0 step 40"));
}

TEST_P(Scenario, S21_TwoRanksStepAtDifferentRates) {
  Plan plan(Base());
  plan.Play(R"(
rank-0..1(modes=train) beats
rank-0 steps 0..549 train_step_duration_seconds=1 @1s
rank-0 steps 550 train_step_duration_seconds=NaN @551s
rank-0 steps 551..599 train_step_duration_seconds=1 @552s
rank-1 steps 0..29 train_step_duration_seconds=1 @1s every 10s
rank-1 steps 30..59 train_step_duration_seconds=NaN @301s every 10s
rank-1 beats @1s..600s
owner ticks @1s..600s
)");
  EXPECT_THAT(Found(Play(kRules, plan)),
              ElementsAre("NotFinite rank 1 step 30", "NotFinite rank 0 step 550"));
  EXPECT_EQ(Dropped(Drop::kLateStep), 0u);
}

TEST_P(Scenario, S22_OneRankReturnsAfter200Steps) {
  Plan plan(Base());
  plan.Play(R"(
rank-0..1(modes=train) beats
rank-0 steps 0..399 train_step_duration_seconds=1 @1s
rank-1 steps 0..49 train_step_duration_seconds=1 @1s
rank-1 beats @51s..250s
rank-1 steps 50..59 train_step_duration_seconds=1 @251s
rank-1 steps 60 train_step_duration_seconds=NaN @261s
rank-1 steps 61..199 train_step_duration_seconds=1 @262s
owner ticks @1s..400s
)");
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("NotFinite rank 1 step 60"));
  EXPECT_EQ(Dropped(Drop::kLateStep), 0u);
}

TEST_P(Scenario, S23_RanksStepWhileTwoClocksAreAhead) {
  Plan plan(RecentBase());
  // The job ends before wall time reaches rank 2's clock.
  plan.Play(R"(
rank-0..1(modes=train) beats
rank-2(modes=train clock_error=45s) beats
rank-3(modes=train clock_error=1h) beats
rank-0 steps 0..189 train_step_duration_seconds=1 @1s
rank-0 steps 190 train_step_duration_seconds=NaN @191s
rank-0 steps 191..199 train_step_duration_seconds=1 @192s
rank-1..3 steps 0..199 train_step_duration_seconds=1 @1s
owner ticks @1s..200s
rank-0 ends completed @200s
rank-0..3 beats @201s..203s
owner ticks @201s..203s
)");
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("NotFinite rank 0 step 190"));
  EXPECT_GT(Dropped(Drop::kClockAhead), 0u);
}

}  // namespace
}  // namespace pitwall::scenarios
