#include "services/executor/worker/live_stops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/executor/testing/executor_fixture.h"

namespace pitwall::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LiveStopsTest : public ::testing::Test {
 protected:
  // Returns a live decision whose reservation is in the index.
  StopDecision Reserve(const std::string& issue = "i") {
    StopDecision decision;
    decision.action.issue = issue;
    decision.action.id = issue;
    decision.action.job = issue;
    decision.action.type = ActionEventType::kDecided;
    decision.action.mode = ActionMode::kLive;
    decision.action.target.uid = "u";
    decision.target = &target_;
    decision.grace_ns = kNanosPerSecond;
    EXPECT_EQ(index_.Reserve(issue, issue, 0), "");
    return decision;
  }
  // Returns a stop in state kCommitted.
  StopDecision Commit(const std::string& issue = "i") {
    StopDecision decision = Reserve(issue);
    stops_.OnUnconfirmed({decision});
    index_.Record(decision.action);
    stops_.Confirm(/*ours=*/true);
    EXPECT_EQ(stops_.StateOf(issue), StopState::kCommitted);
    return decision;
  }
  std::vector<std::string> Effects() const {
    std::vector<std::string> effects;
    for (const ActionEvent& outcome : outcomes_.pending()) effects.push_back(outcome.effect);
    return effects;
  }

  fakes::FakeClock clock_;
  FakeTarget target_{"p"};
  DecisionIndex index_{{.budget = 10, .window_ns = 1, .max_decisions = 100}};
  StopOutcomes outcomes_;
  LiveStops stops_{&clock_, &index_, &outcomes_};
};

TEST_F(LiveStopsTest, CommittedDecisionIsExecuted) {
  target_.Run("u");
  stops_.OnCommitted({Reserve()});
  EXPECT_EQ(target_.stops().size(), 1U);
  EXPECT_EQ(stops_.StateOf("i"), StopState::kExecuted);
  EXPECT_THAT(Effects(), IsEmpty());
}

TEST_F(LiveStopsTest, FailedCommitReleasesTheReservation) {
  stops_.OnFailed({Reserve()});
  EXPECT_EQ(stops_.StateOf("i"), std::nullopt);
  EXPECT_THAT(target_.stops(), IsEmpty());
  EXPECT_THAT(Effects(), IsEmpty());
  EXPECT_EQ(index_.Reserve("i", "i", 0), "");
}

TEST_F(LiveStopsTest, UnconfirmedStopIsNotExecuted) {
  target_.Run("u");
  stops_.OnUnconfirmed({Reserve()});
  stops_.ExecuteCommitted();
  stops_.CheckEffects();
  stops_.Cancel("i", "ended");
  stops_.CancelAll("replaced");
  stops_.Abandon();
  EXPECT_EQ(stops_.StateOf("i"), StopState::kUnconfirmed);
  EXPECT_THAT(target_.stops(), IsEmpty());
  EXPECT_THAT(Effects(), IsEmpty());
}

TEST_F(LiveStopsTest, DecisionThatIsNotInTheLogIsReleased) {
  stops_.OnUnconfirmed({Reserve()});
  stops_.Confirm(/*ours=*/true);
  EXPECT_EQ(stops_.StateOf("i"), std::nullopt);
  EXPECT_THAT(Effects(), IsEmpty());
  EXPECT_EQ(index_.Reserve("i", "i", 0), "");
}

TEST_F(LiveStopsTest, DecisionInTheLogOfThisWorkerIsExecutedLater) {
  target_.Run("u");
  Commit();
  EXPECT_THAT(target_.stops(), IsEmpty());
  stops_.ExecuteCommitted();
  EXPECT_EQ(target_.stops().size(), 1U);
  EXPECT_EQ(stops_.StateOf("i"), StopState::kExecuted);
  stops_.ExecuteCommitted();
  EXPECT_EQ(target_.stops().size(), 1U);
}

TEST_F(LiveStopsTest, DecisionOfAnotherExecutorIsNotExecutedHere) {
  target_.Run("u");
  const StopDecision decision = Reserve();
  stops_.OnUnconfirmed({decision});
  index_.Record(decision.action);
  stops_.Confirm(/*ours=*/false);
  EXPECT_EQ(stops_.StateOf("i"), std::nullopt);
  stops_.ExecuteCommitted();
  EXPECT_THAT(target_.stops(), IsEmpty());
  EXPECT_THAT(Effects(), IsEmpty());
}

TEST_F(LiveStopsTest, ConfirmLeavesOtherStates) {
  target_.Run("u");
  stops_.OnCommitted({Reserve("executed")});
  Commit("committed");
  stops_.Confirm(/*ours=*/false);
  EXPECT_EQ(stops_.StateOf("executed"), StopState::kExecuted);
  EXPECT_EQ(stops_.StateOf("committed"), StopState::kCommitted);
}

TEST_F(LiveStopsTest, CancelFinishesOnlyACommittedStop) {
  target_.Run("u");
  Commit("a");
  Commit("b");
  stops_.OnCommitted({Reserve("executed")});
  stops_.Cancel("a", "the issue ended");
  stops_.Cancel("executed", "the issue ended");
  stops_.Cancel("unknown", "the issue ended");
  EXPECT_THAT(Effects(), ElementsAre("the issue ended"));
  EXPECT_EQ(stops_.StateOf("a"), std::nullopt);
  EXPECT_EQ(stops_.StateOf("b"), StopState::kCommitted);
  EXPECT_EQ(stops_.StateOf("executed"), StopState::kExecuted);
  stops_.CancelAll("the log was replaced");
  EXPECT_THAT(Effects(), ElementsAre("the issue ended", "the log was replaced"));
  EXPECT_FALSE(stops_.Has(StopState::kCommitted));
  EXPECT_TRUE(stops_.Has(StopState::kExecuted));
}

TEST_F(LiveStopsTest, StopThatEndsTheJobFinishesAtTheFirstCheck) {
  target_.Run("u");
  stops_.OnCommitted({Reserve()});
  stops_.CheckEffects();
  EXPECT_EQ(stops_.StateOf("i"), std::nullopt);
  EXPECT_THAT(Effects(), ElementsAre("suspended; no pod is active"));
  EXPECT_TRUE(outcomes_.EndsJob(outcomes_.pending().back()));
}

TEST_F(LiveStopsTest, StopWithoutEffectFinishesAfterTheGracePeriod) {
  target_.Run("u");
  target_.ends = false;
  stops_.OnCommitted({Reserve()});
  stops_.CheckEffects();
  clock_.Advance(kNanosPerSecond / 2);
  stops_.CheckEffects();
  EXPECT_EQ(stops_.StateOf("i"), StopState::kExecuted);
  EXPECT_THAT(Effects(), IsEmpty());
  clock_.Advance(kNanosPerSecond / 2);
  stops_.CheckEffects();
  EXPECT_THAT(Effects(), ElementsAre("suspended; the job is still running after 1000 ms"));
  EXPECT_FALSE(outcomes_.EndsJob(outcomes_.pending().back()));
  EXPECT_EQ(stops_.StateOf("i"), std::nullopt);
}

TEST_F(LiveStopsTest, ErrorOfTheTargetIsTheOutcome) {
  target_.error = NotFound("gone");
  stops_.OnCommitted({Reserve("a")});
  target_.error = Unavailable("no answer");
  stops_.OnCommitted({Reserve("b")});
  EXPECT_THAT(Effects(),
              ElementsAre("not found, so nothing was stopped: gone", "failed: no answer"));
  target_.error = absl::PermissionDeniedError("not ours");
  Commit("c");
  stops_.ExecuteCommitted();
  EXPECT_EQ(outcomes_.pending().back().type, ActionEventType::kRefused);
  for (const char* issue : {"a", "b", "c"}) EXPECT_EQ(stops_.StateOf(issue), std::nullopt);
}

TEST_F(LiveStopsTest, AbandonFinishesExecutedStops) {
  target_.Run("u");
  stops_.OnCommitted({Reserve("executed")});
  Commit("committed");
  stops_.Abandon();
  EXPECT_THAT(Effects(),
              ElementsAre("suspended; the executor stopped before it observed an effect"));
  EXPECT_EQ(stops_.StateOf("executed"), std::nullopt);
  EXPECT_EQ(stops_.StateOf("committed"), StopState::kCommitted);
}

}  // namespace
}  // namespace pitwall::executor
