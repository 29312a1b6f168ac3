// Tests for the limits on connections and streams.
#include "services/adapters/http/connection_counts.h"

#include <gtest/gtest.h>

namespace pitwall::http {
namespace {

TEST(ConnectionCounts, UsesReservedSlotsBeyondTotal) {
  const HttpLimits limits{.max_connections = 1, .reserved_connections = 1};
  ConnectionCounts counts(limits);
  bool reserved = true;
  EXPECT_EQ(counts.Open("a", &reserved), std::nullopt);
  EXPECT_FALSE(reserved);
  EXPECT_EQ(counts.Open("b", &reserved), std::nullopt);
  EXPECT_TRUE(reserved);
  EXPECT_EQ(counts.Open("c", &reserved), Refusal::kConnections);
  counts.Close("b", true);
  counts.Close("a", false);
  EXPECT_TRUE(counts.empty());
}

TEST(ConnectionCounts, LimitsEachAddress) {
  const HttpLimits limits{.max_connections_per_address = 1, .reserved_connections = 0};
  ConnectionCounts counts(limits);
  bool reserved = false;
  EXPECT_EQ(counts.Open("a", &reserved), std::nullopt);
  EXPECT_EQ(counts.Open("a", &reserved), Refusal::kAddressConnections);
  EXPECT_EQ(counts.Open("b", &reserved), std::nullopt);
  counts.Close("a", false);
  EXPECT_EQ(counts.Open("a", &reserved), std::nullopt);
}

TEST(StreamCounts, LimitsTotalAndEachAddress) {
  const HttpLimits limits{.max_streams = 2, .max_streams_per_address = 1};
  StreamCounts counts(limits);
  EXPECT_TRUE(counts.Open("a"));
  EXPECT_FALSE(counts.Open("a"));
  EXPECT_TRUE(counts.Open("b"));
  EXPECT_FALSE(counts.Open("c"));
  counts.Close("a");
  EXPECT_TRUE(counts.Open("c"));
}

}  // namespace
}  // namespace pitwall::http
