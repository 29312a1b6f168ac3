// Tests the per-owner rate limit on the socket (issue 10, B2).
#include "services/collector/clients/owner_rate_limiter.h"

#include <gtest/gtest.h>

#include "services/base/clock.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kMs = kNanosPerMilli;

TEST(OwnerRateLimiter, OnlyOwnerAboveItsRateIsPaused) {
  OwnerRateLimiter rates(1'000'000);
  EXPECT_TRUE(rates.Allows("a", 0));
  rates.Charge("a", 250'000, 0);
  EXPECT_FALSE(rates.Allows("a", 0));
  EXPECT_TRUE(rates.Allows("b", 0));
  EXPECT_TRUE(rates.Allows("a", 1 * kMs));
  rates.Charge("a", 101'000, 1 * kMs);
  EXPECT_FALSE(rates.Allows("a", 100 * kMs));
  EXPECT_TRUE(rates.Allows("a", 102 * kMs));
}

TEST(OwnerRateLimiter, LongTermRateIsExact) {
  OwnerRateLimiter rates(1'000'000);
  int64_t sent = 0;
  for (int64_t now = 0; now < 20'000 * kMs; now += 3 * kMs) {
    if (!rates.Allows("a", now)) continue;
    rates.Charge("a", 65'536, now);
    sent += 65'536;
  }
  EXPECT_GT(sent, 19'900'000);
  EXPECT_LT(sent, 20'400'000);
}

TEST(OwnerRateLimiter, ReconnectKeepsBucket_FullBucketIsRemoved) {
  OwnerRateLimiter rates(1'000'000);
  rates.Charge("a", 500'000, 0);
  rates.Sweep(200 * kMs);
  EXPECT_EQ(rates.size(), 1u);
  EXPECT_FALSE(rates.Allows("a", 200 * kMs));
  rates.Sweep(600 * kMs);
  EXPECT_EQ(rates.size(), 0u);
}

TEST(OwnerRateLimiter, LongPauseAndHighestRateDoNotOverflow) {
  OwnerRateLimiter rates(size_t{1} << 40);
  rates.Charge("a", 1, 0);
  EXPECT_TRUE(rates.Allows("a", int64_t{400} * 24 * 3600 * kNanosPerSecond));
}

}  // namespace
}  // namespace pitwall::collector
