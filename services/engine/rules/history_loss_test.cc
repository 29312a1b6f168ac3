#include "services/engine/rules/history_loss.h"

#include <gtest/gtest.h>

namespace pitwall::engine {
namespace {

Position At(int64_t ns) { return Position::FromNs(ns); }

TEST(HistoryLossTest, WithoutLoss_AffectsNoRule) {
  const HistoryLoss loss;
  EXPECT_FALSE(loss.lost());
  EXPECT_FALSE(loss.Affects({.length = Duration::Nanos(100), .from_attempt = true}, At(0)));
}

TEST(HistoryLossTest, AffectsRuleUntilItsWindowsAreFull) {
  HistoryLoss loss;
  loss.Lose();
  EXPECT_TRUE(loss.Affects({.length = Duration::Nanos(0)}, At(1000))) << "no tick since the loss";
  loss.BeginTick(At(1000));
  loss.BeginTick(At(1010));
  EXPECT_FALSE(loss.Affects({.length = Duration::Nanos(0)}, At(1010)));
  EXPECT_TRUE(loss.Affects({.length = Duration::Nanos(11)}, At(1010)));
  EXPECT_FALSE(loss.Affects({.length = Duration::Nanos(10)}, At(1010)));
}

TEST(HistoryLossTest, AffectsAttemptWindowsUntilNextAttempt) {
  HistoryLoss loss;
  loss.Lose();
  loss.BeginTick(At(1000));
  EXPECT_TRUE(loss.Affects({.from_attempt = true}, At(5000)));
  loss.BeginAttempt();
  EXPECT_FALSE(loss.Affects({.from_attempt = true}, At(5000)));
}

TEST(HistoryLossTest, RestoredLossAffectsSameRules) {
  HistoryLoss loss;
  loss.Lose();
  loss.BeginTick(At(1000));
  BinaryWriter saved;
  loss.Save(saved);
  BinaryReader in(saved.data());
  HistoryLoss restored;
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("loss").ok());
  EXPECT_TRUE(restored.Affects({.length = Duration::Nanos(20)}, At(1010)));
  EXPECT_FALSE(restored.Affects({.length = Duration::Nanos(20)}, At(1020)));
  EXPECT_TRUE(restored.Affects({.from_attempt = true}, At(1020)));
}

}  // namespace
}  // namespace pitwall::engine
