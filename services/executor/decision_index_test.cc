#include "services/executor/decision_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::executor {
namespace {

using ::testing::HasSubstr;

ActionEvent Action(std::string issue, ActionEventType type, ActionMode mode, int64_t time_ns = 0,
                   std::string job = "j") {
  ActionEvent a;
  a.issue = std::move(issue);
  a.type = type;
  a.mode = mode;
  a.time = EventTime::FromNs(time_ns);
  a.job = std::move(job);
  return a;
}

TEST(DecisionIndex, RemembersDecisions) {
  DecisionIndex index({10, 100, 0, 100});
  EXPECT_FALSE(index.Decided("i", ActionMode::kDryRun));
  index.Record(Action("i", ActionEventType::kDecided, ActionMode::kDryRun));
  EXPECT_TRUE(index.Decided("i", ActionMode::kDryRun));
  EXPECT_FALSE(index.Decided("i", ActionMode::kLive)) << "a dry run is not a live decision";
  index.Record(Action("i", ActionEventType::kDecided, ActionMode::kLive));
  EXPECT_TRUE(index.Decided("i", ActionMode::kLive));
  ASSERT_EQ(index.Unfinished().size(), 1U);
  index.Record(Action("i", ActionEventType::kDone, ActionMode::kLive));
  EXPECT_TRUE(index.Unfinished().empty());
  index.Record(Action("k", ActionEventType::kRefused, ActionMode::kLive));
  EXPECT_TRUE(index.Refused("k", ActionMode::kLive));
  EXPECT_FALSE(index.Refused("k", ActionMode::kDryRun));
  EXPECT_FALSE(index.Decided("k", ActionMode::kLive)) << "a refusal is not final";
}

// Records of other kinds of actions, which the processor decides, must not evict stops.
TEST(DecisionIndex, IgnoresActionsOtherThanStops) {
  DecisionIndex index({10, 100, 0, 1});
  index.Record(Action("i", ActionEventType::kDecided, ActionMode::kLive));
  ActionEvent parameter = Action("k", ActionEventType::kDone, ActionMode::kLive);
  parameter.kind = ActionKind::kParameter;
  index.Record(parameter);
  EXPECT_FALSE(index.Done("k"));
  EXPECT_TRUE(index.Decided("i", ActionMode::kLive));
}

TEST(DecisionIndex, RefusalAfterDecision_CountsAsOutcome) {
  DecisionIndex index({10, 100, 0, 100});
  ActionEvent guard = Action("i", ActionEventType::kRefused, ActionMode::kLive);
  guard.id = MakeActionId(guard);
  const ActionEvent decision = Action("i", ActionEventType::kDecided, ActionMode::kLive);
  index.Record(decision);
  index.Record(guard);  // an earlier record that is read again
  EXPECT_EQ(index.Unfinished().size(), 1U);
  const ActionEvent refused = OutcomeOf(decision, ActionEventType::kRefused);
  EXPECT_NE(refused.id, guard.id) << "readers keep one event per ID";
  index.Record(refused);
  EXPECT_TRUE(index.Unfinished().empty());
  EXPECT_TRUE(index.Done("i"));
}

TEST(DecisionIndex, BudgetAndCoolDownUseEventTime) {
  DecisionIndex index({2, 100, 50, 100});
  EXPECT_EQ(index.Reserve("a", "j1", 1000), "");
  EXPECT_THAT(index.Reserve("b", "j1", 1049), HasSubstr("cool-down"));
  EXPECT_EQ(index.Reserve("b", "j1", 1050), "");
  EXPECT_THAT(index.Reserve("c", "j2", 1099), HasSubstr("budget"));
  EXPECT_EQ(index.Reserve("c", "j2", 1100), "");
  index.Release("c");
  EXPECT_EQ(index.Reserve("d", "j3", 1101), "");
  // A decision with an earlier event time counts against the same budget.
  EXPECT_THAT(index.Reserve("e", "j4", 500), HasSubstr("budget"));
}

TEST(DecisionIndex, ReloadedDecisionsCountTowardLimits) {
  DecisionIndex index({1, 100, 50, 100});
  index.Record(Action("a", ActionEventType::kDecided, ActionMode::kLive, 1000, "j1"));
  EXPECT_THAT(index.Reserve("b", "j2", 1050), HasSubstr("budget"));
  EXPECT_EQ(index.Reserve("b", "j2", 1100), "");
}

TEST(DecisionIndex, EvictsOldDecisions) {
  DecisionIndex index({10, 100, 0, 3});
  for (int i = 0; i < 10; ++i) {
    index.Record(Action(Cat("i", i), ActionEventType::kDecided, ActionMode::kDryRun));
  }
  EXPECT_EQ(index.size(), 3U);
  EXPECT_TRUE(index.Decided("i9", ActionMode::kDryRun));
  EXPECT_FALSE(index.Decided("i6", ActionMode::kDryRun));
}

}  // namespace
}  // namespace pitwall::executor
