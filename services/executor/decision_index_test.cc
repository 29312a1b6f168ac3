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
  a.time_ns = time_ns;
  a.job = std::move(job);
  return a;
}

TEST(DecisionIndex, RemembersWhatWasDecided) {
  DecisionIndex book({10, 100, 0, 100});
  EXPECT_FALSE(book.Decided("i", ActionMode::kDryRun));
  book.Record(Action("i", ActionEventType::kDecided, ActionMode::kDryRun));
  EXPECT_TRUE(book.Decided("i", ActionMode::kDryRun));
  EXPECT_FALSE(book.Decided("i", ActionMode::kLive)) << "switched on later: a dry run was none";
  book.Record(Action("i", ActionEventType::kDecided, ActionMode::kLive));
  EXPECT_TRUE(book.Decided("i", ActionMode::kLive));
  ASSERT_EQ(book.Unfinished().size(), 1U);
  book.Record(Action("i", ActionEventType::kDone, ActionMode::kLive));
  EXPECT_TRUE(book.Unfinished().empty());
  book.Record(Action("k", ActionEventType::kRefused, ActionMode::kLive));
  EXPECT_TRUE(book.Refused("k", ActionMode::kLive));
  EXPECT_FALSE(book.Refused("k", ActionMode::kDryRun));
  EXPECT_FALSE(book.Decided("k", ActionMode::kLive)) << "a refusal is not the last word";
}

// The processor decides those: they push nothing out of the window.
TEST(DecisionIndex, PassesOverOtherActionsThanStops) {
  DecisionIndex book({10, 100, 0, 1});
  book.Record(Action("i", ActionEventType::kDecided, ActionMode::kLive));
  ActionEvent parameter = Action("k", ActionEventType::kDone, ActionMode::kLive);
  parameter.kind = ActionKind::kParameter;
  book.Record(parameter);
  EXPECT_FALSE(book.Done("k"));
  EXPECT_TRUE(book.Decided("i", ActionMode::kLive));
}

TEST(DecisionIndex, ARefusalAfterTheDecisionIsItsOutcome) {
  DecisionIndex book({10, 100, 0, 100});
  ActionEvent guard = Action("i", ActionEventType::kRefused, ActionMode::kLive);
  guard.id = MakeActionId(guard);
  const ActionEvent decision = Action("i", ActionEventType::kDecided, ActionMode::kLive);
  book.Record(decision);
  book.Record(guard);  // of before, read again
  EXPECT_EQ(book.Unfinished().size(), 1U);
  const ActionEvent refused = OutcomeOf(decision, ActionEventType::kRefused);
  EXPECT_NE(refused.id, guard.id) << "readers keep one event of an id";
  book.Record(refused);
  EXPECT_TRUE(book.Unfinished().empty());
  EXPECT_TRUE(book.Done("i"));
}

TEST(DecisionIndex, BudgetAndCoolDownCountEventTime) {
  DecisionIndex book({2, 100, 50, 100});
  EXPECT_EQ(book.Reserve("a", "j1", 1000), "");
  EXPECT_THAT(book.Reserve("b", "j1", 1049), HasSubstr("cool-down"));
  EXPECT_EQ(book.Reserve("b", "j1", 1050), "");
  EXPECT_THAT(book.Reserve("c", "j2", 1099), HasSubstr("budget"));
  EXPECT_EQ(book.Reserve("c", "j2", 1100), "");
  book.Release("c");
  EXPECT_EQ(book.Reserve("d", "j3", 1101), "");
  // An event of a job whose time lies behind does not get around the budget.
  EXPECT_THAT(book.Reserve("e", "j4", 500), HasSubstr("budget"));
}

TEST(DecisionIndex, ReadBackDecisionsCount) {
  DecisionIndex book({1, 100, 50, 100});
  book.Record(Action("a", ActionEventType::kDecided, ActionMode::kLive, 1000, "j1"));
  EXPECT_THAT(book.Reserve("b", "j2", 1050), HasSubstr("budget"));
  EXPECT_EQ(book.Reserve("b", "j2", 1100), "");
}

TEST(DecisionIndex, IsBounded) {
  DecisionIndex book({10, 100, 0, 3});
  for (int i = 0; i < 10; ++i) {
    book.Record(Action(Cat("i", i), ActionEventType::kDecided, ActionMode::kDryRun));
  }
  EXPECT_EQ(book.size(), 3U);
  EXPECT_TRUE(book.Decided("i9", ActionMode::kDryRun));
  EXPECT_FALSE(book.Decided("i6", ActionMode::kDryRun));
}

}  // namespace
}  // namespace pitwall::executor
