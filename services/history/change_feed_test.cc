#include "services/history/change_feed.h"

#include <gtest/gtest.h>

#include <utility>

namespace pitwall::history {
namespace {

TEST(ChangeFeed, BreakInvalidatesOldPositions) {
  ChangeFeed feed(10);
  feed.Add({});
  feed.Add({});
  ASSERT_TRUE(feed.After(11, 9).ok());
  EXPECT_EQ(feed.After(11, 9)->size(), 1U);
  feed.Break();
  EXPECT_TRUE(absl::IsOutOfRange(feed.After(12, 9).status()));
  EXPECT_TRUE(feed.After(feed.newest(), 9)->empty());
  feed.Add({});
  EXPECT_EQ(feed.After(13, 9)->front().place, 14U);
  EXPECT_TRUE(absl::IsOutOfRange(feed.After(15, 9).status()));
}

TEST(ChangeFeed, ByteLimitExceeded_OldestChangesAreDropped) {
  ChangeFeed feed(0);
  for (int i = 0; i < 100; ++i) {
    Change change;
    change.record_bytes = ChangeFeed::kKeptBytes / 8;
    feed.Add(std::move(change));
  }
  const uint64_t newest = feed.newest();
  EXPECT_TRUE(feed.After(newest - 1, 9).ok());
  EXPECT_TRUE(absl::IsOutOfRange(feed.After(newest - 8, 9).status()));
}

}  // namespace
}  // namespace pitwall::history
