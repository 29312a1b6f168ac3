#include "services/collector/clients/socket/log_interval.h"

#include <gtest/gtest.h>

namespace pitwall::collector {
namespace {

constexpr int64_t kInterval = LogInterval::kIntervalNs;

TEST(LogIntervalTest, FirstLine_IsAdmitted) {
  LogInterval interval;
  EXPECT_EQ(interval.Admit(0), 0u);
  EXPECT_EQ(interval.Admit(1), std::nullopt);
}

TEST(LogIntervalTest, LineAfterInterval_CountsSuppressedLines) {
  LogInterval interval;
  EXPECT_EQ(interval.Admit(100), 0u);
  EXPECT_EQ(interval.Admit(101), std::nullopt);
  EXPECT_EQ(interval.Admit(99 + kInterval), std::nullopt);
  EXPECT_EQ(interval.Admit(100 + kInterval), 2u);
  EXPECT_EQ(interval.Admit(100 + 2 * kInterval), 0u);
}

}  // namespace
}  // namespace pitwall::collector
