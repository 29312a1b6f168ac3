#include "services/history/segments/segment_cache.h"

#include <gtest/gtest.h>

namespace pitwall::history {
namespace {

void PutColumn(SegmentCache* cache, const SegmentCache::Key& key, double value,
               size_t count = 100) {
  DecodedColumn column;
  column.values.assign(count, value);
  auto shared = std::make_shared<const DecodedColumn>(std::move(column));
  const size_t bytes = shared->bytes();
  cache->Put(key, std::move(shared), bytes);
}

DecodedColumnPtr Column(SegmentCache* cache, const SegmentCache::Key& key) {
  return cache->Find<DecodedColumn>(key);
}

TEST(SegmentCache, FindMatchesAllKeyFields) {
  SegmentCache cache(1 << 20, 4);
  PutColumn(&cache, {1, 2, 3}, 7);
  ASSERT_NE(Column(&cache, {1, 2, 3}), nullptr);
  EXPECT_EQ(Column(&cache, {1, 2, 3})->values[0], 7);
  EXPECT_EQ(Column(&cache, {2, 2, 3}), nullptr);
  EXPECT_EQ(Column(&cache, {1, 3, 3}), nullptr);
  EXPECT_EQ(Column(&cache, {1, 2, 4}), nullptr);
}

TEST(SegmentCache, ByteLimitEvictsLeastRecentlyUsed) {
  SegmentCache cache(10'000, 4);  // the limit fits nine columns of 1,000 bytes
  for (uint64_t i = 0; i < 9; ++i) PutColumn(&cache, {i, 0, 0}, 1);
  ASSERT_NE(Column(&cache, {0, 0, 0}), nullptr);
  for (uint64_t i = 9; i < 17; ++i) PutColumn(&cache, {i, 0, 0}, 1);
  EXPECT_LE(cache.bytes(), 10'000u);
  EXPECT_NE(Column(&cache, {0, 0, 0}), nullptr) << "more recently used than the others";
  EXPECT_EQ(Column(&cache, {1, 0, 0}), nullptr);
  EXPECT_NE(Column(&cache, {16, 0, 0}), nullptr);
  PutColumn(&cache, {99, 0, 0}, 1, 5'000);
  EXPECT_EQ(Column(&cache, {99, 0, 0}), nullptr) << "larger than a quarter of the cache";
  cache.Clear();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(Column(&cache, {16, 0, 0}), nullptr);
}

TEST(SegmentCache, OpenSegmentsAreLimitedInBytesAndNumber) {
  SegmentCache cache(10'000, 2);
  const auto open = [&](uint64_t segment) {
    cache.Put(SegmentCache::OpenKey(segment), std::make_shared<const int>(1), 2'000);
  };
  const auto is_open = [&](uint64_t segment) {
    return cache.Find<int>(SegmentCache::OpenKey(segment)) != nullptr;
  };
  open(1);
  open(2);
  open(3);
  EXPECT_FALSE(is_open(1)) << "two at most";
  EXPECT_TRUE(is_open(2));
  EXPECT_TRUE(is_open(3));
  EXPECT_EQ(cache.bytes(), 4'000u);
  for (uint64_t i = 0; i < 6; ++i) PutColumn(&cache, {3, 0, static_cast<uint32_t>(i)}, 1);
  EXPECT_TRUE(is_open(3));
  PutColumn(&cache, {3, 0, 6}, 1);
  EXPECT_FALSE(is_open(2)) << "least recently used";
  EXPECT_NE(Column(&cache, {3, 0, 0}), nullptr);
  cache.Erase(SegmentCache::OpenKey(3));
  cache.Erase(SegmentCache::OpenKey(3));
  EXPECT_FALSE(is_open(3));
  EXPECT_EQ(cache.bytes(), 7'000u);
}

}  // namespace
}  // namespace pitwall::history
