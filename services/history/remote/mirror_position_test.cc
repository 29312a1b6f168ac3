#include "services/history/remote/mirror_position.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::history {
namespace {

class MirrorPositionTest : public ::testing::Test {
 protected:
  // The log has ten records, so it contains all positions used in the tests.
  MirrorPositionTest() {
    EXPECT_TRUE(log_.EnsureTopic("topic", {}).ok());
    const auto appender = log_.OpenAppender();
    EXPECT_TRUE((*appender)->Append({10, {.topic = "topic", .partition = 0, .value = "v"}}).ok());
  }

  CommittedOffset Stored() { return **log_.Committed("group", at_); }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  const TopicPartition at_{"topic", 0};
  MirrorPosition position_{&log_, "group", at_};
};

TEST_F(MirrorPositionTest, NothingIsSavedBeforeBegin) {
  position_.RestoreStart(3);
  ASSERT_TRUE(position_.Save().ok());
  EXPECT_FALSE((*log_.Committed("group", at_)).has_value());
  position_.Begin();
  ASSERT_TRUE(position_.Save().ok());
  EXPECT_EQ(Stored().offset, 3);
}

// The worker restores the position again if it cannot start reading there.
TEST_F(MirrorPositionTest, InterruptedRestoration_KeepsStoredPosition) {
  const CommittedOffset stored{.offset = 2, .metadata = "end=5"};
  ASSERT_TRUE(log_.StorePosition("group", at_, stored).ok());
  ASSERT_TRUE(position_.Restore(stored, 4).ok());
  position_.Begin();
  position_.RestoreStart(4);
  ASSERT_TRUE(position_.Save().ok());
  EXPECT_EQ(Stored().offset, 2);
  EXPECT_EQ(Stored().metadata, "end=5");
}

TEST_F(MirrorPositionTest, RequestInFlight_IsRepeatedAfterRestart) {
  position_.RestoreStart(0);
  position_.Begin();
  ASSERT_TRUE(position_.BeginRequest(5).ok());
  EXPECT_EQ(Stored().offset, 0);
  MirrorPosition next(&log_, "group", at_);
  const auto restored = next.Restore(Stored(), 0);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(*restored, MirrorPosition::Restored::kComplete);
  next.Begin();
  EXPECT_TRUE(next.repeating());
  EXPECT_FALSE(next.EndsRepetition(4));
  EXPECT_TRUE(next.EndsRepetition(5));
  next.EndRequest(5);
  EXPECT_FALSE(next.repeating());
  EXPECT_EQ(next.sent(), 5);
  ASSERT_TRUE(next.Save().ok());
  EXPECT_EQ(Stored().offset, 5);
}

TEST_F(MirrorPositionTest, DeletedRecordsAreReported) {
  const auto restored = position_.Restore({.offset = 2, .metadata = ""}, 4);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(*restored, MirrorPosition::Restored::kGap);
  EXPECT_EQ(position_.begin(), 4);
}

TEST_F(MirrorPositionTest, ReplacedLogIsReadFromStart) {
  const auto restored = position_.Restore({.offset = 12, .metadata = "end=15"}, 4);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(*restored, MirrorPosition::Restored::kReplaced);
  EXPECT_EQ(position_.begin(), 4);
  EXPECT_FALSE(position_.repeating());
}

TEST_F(MirrorPositionTest, SkippedRequestIsNotRepeated) {
  ASSERT_TRUE(position_.Restore({.offset = 2, .metadata = "end=5"}, 0).ok());
  position_.SkipTo(1);
  EXPECT_TRUE(position_.repeating());
  EXPECT_EQ(position_.begin(), 2);
  position_.SkipTo(9);
  EXPECT_FALSE(position_.repeating());
  EXPECT_EQ(position_.begin(), 9);
}

}  // namespace
}  // namespace pitwall::history
