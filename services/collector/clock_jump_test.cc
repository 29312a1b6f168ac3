// Tests wall clock jumps while a collector is running (time-model.md 1.1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "services/collector/ranks/testing/decode.h"
#include "services/collector/testing/collector_fixture.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMs = kNanosPerMilli;
constexpr int64_t kSecond = kNanosPerSecond;

TEST_F(CollectorTest, WallClockSetBack_EventTimeContinues) {
  Start();
  Advance(2 * kSecond);
  const int64_t before_ns = clock_.WallNs();
  clock_.SetWall(before_ns - 3600 * kSecond);
  Advance(3 * kSecond);
  EXPECT_EQ(Counter("pitwall_collector_clock_behind"), 1);
  clock_.SetWall(before_ns + 3 * kSecond);  // by now, event time has caught up
  Advance(3 * kSecond);
  EXPECT_EQ(Counter("pitwall_collector_clock_behind"), 0);
  const auto batches = Of(Stop(), "node:n1");
  // There is only one boot, and every second has data. DecodeAll checks that the time does not
  // decrease.
  std::set<int64_t> seconds;
  std::vector<double> offsets;
  for (const ReadBatch& batch : batches) {
    EXPECT_EQ(batch.boot_id, "boot1.0");
    for (const ReadSample& sample : batch.samples) {
      if (sample.series != "pitwall_clock_offset_seconds") continue;
      seconds.insert((sample.time_ns - before_ns) / kSecond);
      if (offsets.empty() || std::abs(offsets.back() - sample.value) > 0.5)
        offsets.push_back(sample.value);
    }
  }
  EXPECT_THAT(seconds, ::testing::IsSupersetOf({-1, 0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(offsets.size(), 3u);
  EXPECT_NEAR(offsets[0], 0, 1e-6);
  EXPECT_NEAR(offsets[1], -3600, 1e-6);
  EXPECT_NEAR(offsets[2], 0, 1e-6);
  EXPECT_EQ(Counter("pitwall_collector_boots_total"), 1);
}

TEST_F(CollectorTest, WallClockSetForward_StartsNewBoot) {
  Start();
  Advance(2 * kSecond);
  clock_.SetWall(clock_.WallNs() + 3600 * kSecond);
  Advance(2 * kSecond);
  clock_.SetWall(clock_.WallNs() + 900 * kMs);  // too small a change for a new boot
  Advance(2 * kSecond);
  const auto batches = Of(Stop(), "node:n1");
  std::vector<std::string> boots;
  for (const ReadBatch& batch : batches) {
    if (boots.empty() || boots.back() != batch.boot_id) boots.push_back(batch.boot_id);
  }
  ASSERT_THAT(boots, ElementsAre("boot1.0", "boot2.0"));
  for (size_t i = 0; i + 1 < batches.size(); ++i) {
    if (batches[i].boot_id == batches[i + 1].boot_id) continue;
    EXPECT_TRUE(batches[i].goodbye);
    EXPECT_EQ(batches[i + 1].sequence, 1u);
    EXPECT_GT(batches[i + 2].schemas, 0u);
    EXPECT_GT(batches[i + 1].promise_ns, batches[i].promise_ns);
  }
  EXPECT_EQ(Counter("pitwall_collector_boots_total"), 2);
}

// Regression test for issue 26, F1.
TEST_F(CollectorTest, WallClock45DaysAheadFor25Seconds_ChangesNothing) {
  Start();
  Advance(2 * kSecond);
  const int64_t right_ns = clock_.WallNs() - clock_.MonotonicNs();
  clock_.SetWall(clock_.WallNs() + 45 * 86'400 * kSecond);
  Advance(25 * kSecond);
  clock_.SetWall(right_ns + clock_.MonotonicNs());
  Advance(2 * kSecond);
  EXPECT_EQ(Counter("pitwall_collector_boots_total"), 1);
  for (const ReadBatch& batch : Of(Stop(), "node:n1")) {
    EXPECT_EQ(batch.boot_id, "boot1.0");
    EXPECT_LT(batch.promise_ns, right_ns + clock_.MonotonicNs() + kSecond);
  }
}

TEST_F(CollectorTest, WallClockAheadForMinutes_CorrectionStartsNewBoot) {
  Start();
  Advance(2 * kSecond);
  const int64_t right_ns = clock_.WallNs() - clock_.MonotonicNs();
  clock_.SetWall(clock_.WallNs() + 45 * 86'400 * kSecond);
  Advance(62 * kSecond);
  EXPECT_EQ(Counter("pitwall_collector_boots_total"), 2);
  clock_.SetWall(right_ns + clock_.MonotonicNs());
  Advance(62 * kSecond);
  EXPECT_EQ(Counter("pitwall_collector_boots_total"), 3);
  EXPECT_EQ(Counter("pitwall_collector_clock_behind"), 0);
  const auto batches = Of(Stop(), "node:n1");
  EXPECT_EQ(batches.back().boot_id, "boot3.0");
  EXPECT_LT(batches.back().promise_ns, right_ns + clock_.MonotonicNs() + kSecond);
}

}  // namespace
}  // namespace pitwall::collector
