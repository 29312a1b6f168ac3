#include "services/executor/worker/stop_outcomes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace pitwall::executor {
namespace {

ActionEvent Decision(std::string issue) {
  ActionEvent decision;
  decision.issue = std::move(issue);
  decision.type = ActionEventType::kDecided;
  decision.mode = ActionMode::kLive;
  decision.why = "policy p/*: live";
  decision.id = MakeActionId(decision);
  return decision;
}

TEST(StopOutcomes, FinishAddsOutcomeOfDecision) {
  StopOutcomes outcomes;
  outcomes.Finish(Decision("i"), "SIGTERM sent");
  ASSERT_EQ(outcomes.pending().size(), 1U);
  const ActionEvent& done = outcomes.pending()[0];
  EXPECT_EQ(done.type, ActionEventType::kDone);
  EXPECT_EQ(done.issue, "i");
  EXPECT_EQ(done.effect, "SIGTERM sent");
  EXPECT_TRUE(IsOutcome(done));
  EXPECT_FALSE(outcomes.EndsJob(done));
}

TEST(StopOutcomes, RefusalStatesReason) {
  StopOutcomes outcomes;
  outcomes.Refuse(Decision("i"), "not permitted");
  ASSERT_EQ(outcomes.pending().size(), 1U);
  const ActionEvent& refused = outcomes.pending()[0];
  EXPECT_EQ(refused.type, ActionEventType::kRefused);
  EXPECT_EQ(refused.why, "policy p/*: live; refused: not permitted");
  EXPECT_TRUE(IsOutcome(refused));
}

TEST(StopOutcomes, EndsJobReturnsTrueUntilCommit) {
  StopOutcomes outcomes;
  outcomes.Finish(Decision("i"), "the process exited", /*stopped=*/true);
  const ActionEvent done = outcomes.pending()[0];
  EXPECT_TRUE(outcomes.EndsJob(done));
  outcomes.NoteCommit(done);
  EXPECT_FALSE(outcomes.EndsJob(done));
  outcomes.Clear();
  EXPECT_TRUE(outcomes.pending().empty());
}

TEST(StopOutcomes, DropsOutcomesThatAreInIndex) {
  StopOutcomes outcomes;
  outcomes.Finish(Decision("i"), "SIGTERM sent");
  outcomes.Finish(Decision("k"), "SIGTERM sent");
  DecisionIndex index({10, 100, 0, 100});
  index.Record(outcomes.pending()[0]);
  outcomes.DropRecorded(index);
  ASSERT_EQ(outcomes.pending().size(), 1U);
  EXPECT_EQ(outcomes.pending()[0].issue, "k");
}

}  // namespace
}  // namespace pitwall::executor
