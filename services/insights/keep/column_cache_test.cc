#include "services/insights/keep/column_cache.h"

#include <gtest/gtest.h>

namespace pitwall::insights {
namespace {

DecodedColumnPtr Column(double value, size_t count = 100) {
  DecodedColumn column;
  column.values.assign(count, value);
  return std::make_shared<const DecodedColumn>(std::move(column));
}

TEST(ColumnCache, GivesWhatWasPutByTheWholeKey) {
  ColumnCache cache(1 << 20);
  cache.Put({1, 2, 3}, Column(7));
  ASSERT_NE(cache.Find({1, 2, 3}), nullptr);
  EXPECT_EQ(cache.Find({1, 2, 3})->values[0], 7);
  EXPECT_EQ(cache.Find({2, 2, 3}), nullptr);
  EXPECT_EQ(cache.Find({1, 3, 3}), nullptr);
  EXPECT_EQ(cache.Find({1, 2, 4}), nullptr);
}

TEST(ColumnCache, StaysWithinItsBytesAndForgetsWhatWasUsedLongestAgo) {
  ColumnCache cache(10'000);  // nine columns of 1,000 bytes
  for (uint64_t i = 0; i < 9; ++i) cache.Put({i, 0, 0}, Column(1));
  ASSERT_NE(cache.Find({0, 0, 0}), nullptr);
  for (uint64_t i = 9; i < 17; ++i) cache.Put({i, 0, 0}, Column(1));
  EXPECT_LE(cache.bytes(), 10'000u);
  EXPECT_NE(cache.Find({0, 0, 0}), nullptr) << "used while the others were not";
  EXPECT_EQ(cache.Find({1, 0, 0}), nullptr);
  EXPECT_NE(cache.Find({16, 0, 0}), nullptr);
  cache.Put({99, 0, 0}, Column(1, 5'000));
  EXPECT_EQ(cache.Find({99, 0, 0}), nullptr) << "larger than all the others";
  cache.Clear();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(cache.Find({16, 0, 0}), nullptr);
}

}  // namespace
}  // namespace pitwall::insights
