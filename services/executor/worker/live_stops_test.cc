#include "services/executor/worker/executed_stops.h"

#include <gtest/gtest.h>

#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

class ExecutedStopsTest : public ::testing::Test {
 protected:
  StopDecision Decision() {
    StopDecision decision;
    decision.action.issue = "i";
    decision.action.type = ActionEventType::kDecided;
    decision.action.mode = ActionMode::kLive;
    decision.action.target.uid = "u";
    decision.target = &target_;
    decision.grace_ns = kNanosPerSecond;
    return decision;
  }
  std::string Effect() const {
    return outcomes_.pending().empty() ? "" : outcomes_.pending().back().effect;
  }

  fakes::FakeClock clock_;
  FakeTarget target_{"p"};
  StopOutcomes outcomes_;
  ExecutedStops stops_{&clock_, &outcomes_};
};

TEST_F(ExecutedStopsTest, StopThatEndsJob_FinishesAtFirstCheck) {
  target_.Run("u");
  stops_.Execute(Decision());
  EXPECT_EQ(target_.stops().size(), 1U);
  EXPECT_FALSE(stops_.empty());
  stops_.CheckEffects();
  EXPECT_TRUE(stops_.empty());
  EXPECT_EQ(Effect(), "suspended; no pod is active");
  EXPECT_TRUE(outcomes_.EndsJob(outcomes_.pending().back()));
}

TEST_F(ExecutedStopsTest, StopWithoutEffect_FinishesAfterGrace) {
  target_.Run("u");
  target_.ends = false;
  stops_.Execute(Decision());
  stops_.CheckEffects();
  clock_.Advance(kNanosPerSecond / 2);
  stops_.CheckEffects();
  EXPECT_TRUE(outcomes_.pending().empty());
  clock_.Advance(kNanosPerSecond / 2);
  stops_.CheckEffects();
  EXPECT_EQ(Effect(), "suspended; the job is still running after 1000 ms");
  EXPECT_FALSE(outcomes_.EndsJob(outcomes_.pending().back()));
  EXPECT_TRUE(stops_.empty());
}

TEST_F(ExecutedStopsTest, TargetError_IsRecordedAsOutcome) {
  target_.error = NotFound("gone");
  stops_.Execute(Decision());
  EXPECT_EQ(Effect(), "not found, so nothing was stopped: gone");
  target_.error = Unavailable("no answer");
  stops_.Execute(Decision());
  EXPECT_EQ(Effect(), "failed: no answer");
  target_.error = absl::PermissionDeniedError("not ours");
  stops_.Execute(Decision());
  EXPECT_EQ(outcomes_.pending().back().type, ActionEventType::kRefused);
  EXPECT_TRUE(stops_.empty());
}

TEST_F(ExecutedStopsTest, AbandonFinishesAllStops) {
  target_.Run("u");
  stops_.Execute(Decision());
  stops_.Abandon();
  EXPECT_TRUE(stops_.empty());
  EXPECT_EQ(Effect(), "suspended; the executor stopped before it observed an effect");
}

}  // namespace
}  // namespace pitwall::executor
