#include "services/engine/program/rule_set_history.h"

#include <gtest/gtest.h>

namespace pitwall::engine {
namespace {

TEST(RuleSetHistory, HashAt_ReturnsRuleSetBeforeRecord) {
  RuleSetHistory history;
  EXPECT_EQ(history.hash(), "");
  history.Begin("a");
  history.Change(LogOffset(10), "b");
  EXPECT_EQ(history.HashAt(LogOffset(10)), "a");
  EXPECT_EQ(history.HashAt(LogOffset(11)), "b");
  EXPECT_EQ(history.hash(), "b");
}

TEST(RuleSetHistory, ForgetBefore_KeepsActiveRuleSet) {
  RuleSetHistory history;
  history.Begin("a");
  history.Change(LogOffset(10), "b");
  history.Change(LogOffset(20), "c");
  history.ForgetBefore(LogOffset(15));
  EXPECT_EQ(history.HashAt(LogOffset(15)), "b");
  EXPECT_EQ(history.HashAt(LogOffset(21)), "c");
  history.ForgetBefore(LogOffset(100));
  EXPECT_EQ(history.hash(), "c");
}

}  // namespace
}  // namespace pitwall::engine
