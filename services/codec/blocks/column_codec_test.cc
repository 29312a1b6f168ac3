#include "services/codec/blocks/column_codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace pitwall::blocks {
namespace {

using Column = std::vector<int64_t>;

size_t BytesOf(const Column& column) {
  std::string bytes;
  EXPECT_TRUE(EncodeColumn(column, &bytes).ok());
  Column got;
  const Status status = DecodeColumn(bytes, &got);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(got, column);
  return bytes.size();
}

TEST(ColumnCodec, TimesComeBackAndTakeFewBytes) {
  std::mt19937_64 rng(1);
  Column even;
  Column jitter;
  Column random;
  for (int64_t i = 0; i < 1200; ++i) {
    even.push_back(1'790'000'000'000'000'000 + i * 500'000'000);
    jitter.push_back(even.back() + static_cast<int64_t>(rng() % 1000) * 1000);
    random.push_back(static_cast<int64_t>(rng()));
  }
  EXPECT_LT(BytesOf(even), 60u);
  EXPECT_LT(BytesOf(jitter), 1200u * 2 + 100);
  EXPECT_LT(BytesOf(random), 1200u * 10 + 20);
}

TEST(ColumnCodec, EdgesComeBack) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  BytesOf({});
  BytesOf({0});
  BytesOf({least});
  BytesOf({most, least, most, least, 0, -1, 1});
  BytesOf({-1'000'000'000, 0, 2'000'000'000});
}

TEST(ColumnCodec, DamageIsRefusedOrBounded) {
  std::mt19937_64 rng(5);
  Column column;
  for (int64_t i = 0; i < 300; ++i) column.push_back(i * i * 1000);
  std::string bytes;
  ASSERT_TRUE(EncodeColumn(column, &bytes).ok());
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    damaged[rng() % damaged.size()] ^= static_cast<char>(1u << rng() % 8);
    Column got;
    (void)DecodeColumn(damaged, &got);
    ASSERT_LE(got.size(), kMaxColumnEntries);
  }
  Column got;
  EXPECT_FALSE(DecodeColumn(bytes.substr(0, bytes.size() - 1), &got).ok());
  EXPECT_FALSE(DecodeColumn(bytes + "x", &got).ok());
  EXPECT_FALSE(DecodeColumn("", &got).ok());
}

}  // namespace
}  // namespace pitwall::blocks
