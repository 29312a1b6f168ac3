// The scenarios of time-model.md, section 9, in which ranks do not step in sync. Each scenario runs
// with every log and is compared with its replay.
#include <gmock/gmock.h>

#include <limits>

#include "services/base/time.h"
#include "tests/scenarios/actors.h"

namespace pitwall::scenarios {
namespace {

using engine::Drop;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

constexpr char kRules[] = R"(
groups:
- name: train
  clock: step
  mode: train
  interval: 1
  rules:
  - alert: NotFinite
    expr: train_step_duration_seconds != train_step_duration_seconds
- name: eval
  clock: step
  mode: eval
  interval: 1
  rules:
  - alert: SlowEval
    expr: train_step_duration_seconds > 5
)";
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> Found(const std::vector<IssueEvent>& events) {
  std::vector<std::string> found;
  for (const IssueEvent& event : events) {
    if (event.type == EventType::kIssueFound)
      found.push_back(Cat(event.alert, " rank ", event.labels.Get("rank"), " step ", event.step));
  }
  return found;
}

// Adds a step with that duration, which the rank finishes now.
void Step(Plan* plan, SimSource* rank, int64_t step, double duration = 1,
          std::string_view mode = "train") {
  rank->Set("train_step", static_cast<double>(step));
  rank->Set("train_step_duration_seconds", duration);
  plan->Add(*rank, rank->StepDone(plan->now(), mode, step));
}

TEST_P(Scenario, S19_OneRankHasFewerInputsAndStaysAlive) {
  Plan plan(Base());
  std::vector<SimSource> ranks = {Rank(plan, 0), Rank(plan, 1)};
  JoinRanks(&plan, &ranks);
  int64_t step = 0;
  plan.Run(300, [&](int64_t now) {
    Step(&plan, &ranks[0], step, step >= 150 ? kNaN : 1);
    if (step < 100) {
      Step(&plan, &ranks[1], step);
    } else {
      plan.Add(ranks[1], ranks[1].Heartbeat(now));
    }
    ++step;
  });
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("NotFinite rank 0 step 150"));
  EXPECT_EQ(Dropped(Counters(), Drop::kLateStep), 0u);
}

TEST_P(Scenario, S20_OneRankAbandonsAMode) {
  Plan plan(Base());
  std::vector<SimSource> ranks = {Rank(plan, 0), Rank(plan, 1)};
  for (SimSource& rank : ranks) plan.Add(rank, rank.Announce(plan.now(), {"train", "eval"}));
  int64_t train = 0, eval = 0;
  plan.Run(300, [&](int64_t now) {
    if (now / kSecond % 4 == 0) {
      Step(&plan, &ranks[0], eval, eval >= 40 ? 9 : 1, "eval");
      if (eval < 5) Step(&plan, &ranks[1], eval, 1, "eval");
      ++eval;
    } else {
      for (SimSource& rank : ranks) Step(&plan, &rank, train);
      ++train;
    }
  });
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("SlowEval rank 0 step 40"));
}

TEST_P(Scenario, S21_TwoRanksStepAtDifferentRates) {
  Plan plan(Base());
  std::vector<SimSource> ranks = {Rank(plan, 0), Rank(plan, 1)};
  JoinRanks(&plan, &ranks);
  int64_t step = 0;
  plan.Run(600, [&](int64_t now) {
    Step(&plan, &ranks[0], step, step == 550 ? kNaN : 1);
    if (step % 10 == 0) {
      Step(&plan, &ranks[1], step / 10, step >= 300 ? kNaN : 1);
    } else {
      plan.Add(ranks[1], ranks[1].Heartbeat(now));
    }
    ++step;
  });
  EXPECT_THAT(Found(Play(kRules, plan)),
              ElementsAre("NotFinite rank 1 step 30", "NotFinite rank 0 step 550"));
  EXPECT_EQ(Dropped(Counters(), Drop::kLateStep), 0u);
}

TEST_P(Scenario, S22_OneRankReturnsAfter200Steps) {
  Plan plan(Base());
  std::vector<SimSource> ranks = {Rank(plan, 0), Rank(plan, 1)};
  JoinRanks(&plan, &ranks);
  int64_t step = 0;
  plan.Run(400, [&](int64_t now) {
    Step(&plan, &ranks[0], step);
    if (step < 50 || step >= 250) {
      const int64_t own = step < 50 ? step : step - 200;
      Step(&plan, &ranks[1], own, own == 60 ? kNaN : 1);
    } else {
      plan.Add(ranks[1], ranks[1].Heartbeat(now));
    }
    ++step;
  });
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("NotFinite rank 1 step 60"));
  EXPECT_EQ(Dropped(Counters(), Drop::kLateStep), 0u);
}

TEST_P(Scenario, S23_RanksStepWhileTwoClocksAreAhead) {
  Plan plan(RecentBase());
  std::vector<SimSource> ranks = {Rank(plan, 0), Rank(plan, 1), Rank(plan, 2), Rank(plan, 3)};
  ranks[2].clock_error_ns = 45 * kSecond;
  ranks[3].clock_error_ns = 3600 * kSecond;
  JoinRanks(&plan, &ranks);
  int64_t step = 0;
  plan.Run(200, [&](int64_t) {
    for (SimSource& rank : ranks)
      Step(&plan, &rank, step, step == 190 && &rank == &ranks[0] ? kNaN : 1);
    ++step;
  });
  // The job ends before wall time reaches rank 2's clock.
  plan.Add(ranks[0], ranks[0].Event(plan.now(), {.kind = JobEvent::Kind::kEnded,
                                                 .time = EventTime::FromNs(plan.now()),
                                                 .reason = "completed"}));
  plan.Run(3, [&](int64_t now) {
    for (SimSource& rank : ranks) plan.Add(rank, rank.Heartbeat(now));
  });
  EXPECT_THAT(Found(Play(kRules, plan)), ElementsAre("NotFinite rank 0 step 190"));
  EXPECT_GT(Dropped(Counters(), Drop::kClockAhead), 0u);
}

}  // namespace
}  // namespace pitwall::scenarios
