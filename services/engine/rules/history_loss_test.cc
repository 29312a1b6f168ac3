#include "services/engine/rules/history_loss.h"

#include <gtest/gtest.h>

namespace pitwall::engine {
namespace {

TEST(HistoryLossTest, WithoutLoss_AffectsNoRule) {
  const HistoryLoss loss;
  EXPECT_FALSE(loss.lost());
  EXPECT_FALSE(loss.Affects({.length = 100, .from_attempt = true}, 0));
}

TEST(HistoryLossTest, AffectsRuleUntilItsWindowsAreFull) {
  HistoryLoss loss;
  loss.Lose();
  EXPECT_TRUE(loss.Affects({.length = 0}, 1000)) << "no tick since the loss";
  loss.BeginTick(1000);
  loss.BeginTick(1010);
  EXPECT_FALSE(loss.Affects({.length = 0}, 1010));
  EXPECT_TRUE(loss.Affects({.length = 11}, 1010));
  EXPECT_FALSE(loss.Affects({.length = 10}, 1010));
}

TEST(HistoryLossTest, AffectsAttemptWindowsUntilNextAttempt) {
  HistoryLoss loss;
  loss.Lose();
  loss.BeginTick(1000);
  EXPECT_TRUE(loss.Affects({.from_attempt = true}, 5000));
  loss.BeginAttempt();
  EXPECT_FALSE(loss.Affects({.from_attempt = true}, 5000));
}

TEST(HistoryLossTest, RestoredLossAffectsSameRules) {
  HistoryLoss loss;
  loss.Lose();
  loss.BeginTick(1000);
  BinaryWriter saved;
  loss.Save(saved);
  BinaryReader in(saved.data());
  HistoryLoss restored;
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("loss").ok());
  EXPECT_TRUE(restored.Affects({.length = 20}, 1010));
  EXPECT_FALSE(restored.Affects({.length = 20}, 1020));
  EXPECT_TRUE(restored.Affects({.from_attempt = true}, 1020));
}

}  // namespace
}  // namespace pitwall::engine
