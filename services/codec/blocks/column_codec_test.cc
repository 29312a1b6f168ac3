#include "services/codec/blocks/column_codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace pitwall::blocks {
namespace {

using Column = std::vector<int64_t>;

size_t BytesOf(const Column& column, ColumnEffort effort = ColumnEffort::kQuick) {
  std::string bytes;
  EXPECT_TRUE(EncodeColumn(column, &bytes, effort).ok());
  Column got;
  const Status status = DecodeColumn(bytes, &got);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(got, column);
  return bytes.size();
}

TEST(ColumnCodec, TimesRoundTripInFewBytes) {
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

// Returns the end times of alternating phases. Each phase duration varies by about 1% (standard
// deviation) between steps.
Column PhaseEnds(size_t count) {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> noise(1, 0.01);
  Column out;
  int64_t time = 1'790'000'000'000'000'000;
  for (size_t i = 0; i < count; ++i) {
    constexpr int64_t kLengths[] = {30'000'000, 250'000'000, 470'000'000, 80'000'000, 170'000'000};
    time += static_cast<int64_t>(static_cast<double>(kLengths[i % 5]) * noise(rng));
    out.push_back(time);
  }
  return out;
}

// Noise alone needs log2(0.01 * length * 4.13) bits per entry, which is 2.9 bytes on average.
TEST(ColumnCodec, AlternatingPhasesNeedFewBytesBeyondNoise) {
  const Column ends = PhaseEnds(3000);
  EXPECT_GT(BytesOf(ends), 3000u * 38 / 10);
  EXPECT_LT(BytesOf(ends, ColumnEffort::kSmall), 3000u * 31 / 10);
}

TEST(ColumnCodec, SmallColumnsRoundTrip) {
  std::mt19937_64 rng(2);
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const Column& column :
       {Column{}, Column{0}, Column{least}, Column{most, least, most, 0, -1}})
    BytesOf(column, ColumnEffort::kSmall);
  for (int i = 0; i < 300; ++i) {
    Column column;
    const int width = static_cast<int>(rng() % 63) + 1;
    for (size_t left = rng() % 200; left > 0; --left) {
      // Some entries are outliers.
      const int bits = rng() % 20 == 0 ? 64 : width;
      column.push_back(static_cast<int64_t>(rng() >> (64 - bits)) * (rng() % 2 == 0 ? 1 : -1));
    }
    BytesOf(column, ColumnEffort::kSmall);
  }
}

TEST(ColumnCodec, CorruptSmallColumnIsRejectedOrBounded) {
  std::mt19937_64 rng(6);
  std::string bytes;
  ASSERT_TRUE(EncodeColumn(PhaseEnds(400), &bytes, ColumnEffort::kSmall).ok());
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes.substr(0, i % 3 == 0 ? rng() % bytes.size() : bytes.size());
    if (!damaged.empty()) damaged[rng() % damaged.size()] ^= static_cast<char>(1u << rng() % 8);
    Column got;
    const Status status = DecodeColumn(damaged, &got);
    ASSERT_LE(got.size(), kMaxColumnEntries);
    ASSERT_TRUE(damaged.size() == bytes.size() || !status.ok());
  }
}

TEST(ColumnCodec, ExtremeValuesRoundTrip) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  BytesOf({});
  BytesOf({0});
  BytesOf({least});
  BytesOf({most, least, most, least, 0, -1, 1});
  BytesOf({-1'000'000'000, 0, 2'000'000'000});
}

TEST(ColumnCodec, CorruptColumnIsRejectedOrBounded) {
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
