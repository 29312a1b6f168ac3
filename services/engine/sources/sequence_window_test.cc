#include "services/engine/sources/sequence_window.h"

#include <gtest/gtest.h>

namespace pitwall::engine {
namespace {

TEST(SequenceWindow, CountsGapsAndRejectsDuplicates) {
  SequenceWindow window;
  EXPECT_FALSE(window.Accept(0));
  EXPECT_TRUE(window.Accept(7)) << "the first number may have any value";
  EXPECT_EQ(window.missing(), 0u);
  EXPECT_TRUE(window.Accept(10));
  EXPECT_EQ(window.missing(), 2u);
  EXPECT_TRUE(window.Accept(8));
  EXPECT_EQ(window.missing(), 1u);
  EXPECT_FALSE(window.Accept(8));
  EXPECT_FALSE(window.Accept(10));
  EXPECT_TRUE(window.Accept(10 + SequenceWindow::kWidth));
  EXPECT_FALSE(window.Accept(10));
}

// A new collector takes over a rank from a previous collector (time-model.md, scenario 13).
TEST(SequenceWindow, RestartedCounterHasNoGapBelowItsStart) {
  SequenceWindow window;
  EXPECT_TRUE(window.Accept(5));
  EXPECT_TRUE(window.Accept(600, 600));
  EXPECT_EQ(window.missing(), 0u);
  EXPECT_FALSE(window.Accept(600, 600));
  EXPECT_TRUE(window.Accept(601, 600));
  EXPECT_EQ(window.missing(), 0u);
  EXPECT_TRUE(window.Accept(603, 600)) << "one batch of the new collector is lost";
  EXPECT_EQ(window.missing(), 1u);
  EXPECT_TRUE(window.Accept(602, 600));
  EXPECT_EQ(window.missing(), 0u);
  // The first batches of a third collector are lost. Only these batches count as missing.
  EXPECT_TRUE(window.Accept(5002, 5000));
  EXPECT_EQ(window.missing(), 2u);
}

}  // namespace
}  // namespace pitwall::engine
