// Tests for append times when the wall clock jumps.
#include <gtest/gtest.h>

#include "services/adapters/embedded_log/format/append_clock.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class AppendTime : public EmbeddedLogTest {
 protected:
  // Appends one record and returns its append time.
  int64_t Stamp(int32_t partition = 0) {
    Append({Out("t", "v", "k", partition)});
    const Readout readout = ReadAll("t", partition);
    EXPECT_TRUE(readout.losses.empty());
    return readout.records.empty() ? -1 : readout.records.back().append_time.ns();
  }
  void Start(int32_t partitions = 1) {
    MustOpen();
    Topic("t", partitions);
  }
  void StepWall(int64_t by_ns) { clock_.SetWall(clock_.WallNs() + by_ns); }
  // Event time from a source that started at the initial wall time and has used its monotonic clock
  // since then.
  int64_t SourceTime() const { return begin_ + clock_.MonotonicNs(); }

  const int64_t begin_ = clock_.WallNs();
  static constexpr int64_t kSecond = kNanosPerSecond;
  static constexpr int64_t kHour = 3600 * kSecond;
};

TEST_F(AppendTime, WallClockSetBack_IsNotFollowed) {
  Start();
  clock_.Advance(5 * kSecond);
  EXPECT_EQ(Stamp(), SourceTime());
  StepWall(-600 * kSecond);
  for (int second = 0; second < 120; ++second) {
    clock_.Advance(kSecond);
    // If append times stopped advancing, this record would be 60 s behind a live source.
    ASSERT_EQ(Stamp(), SourceTime()) << "after " << second << " s";
  }
  EXPECT_EQ(log_->Stats().clock_ahead_ns, 600 * kSecond);
  StepWall(600 * kSecond);
  EXPECT_EQ(log_->Stats().clock_ahead_ns, 0);
}

TEST_F(AppendTime, WallClockSetForward_IsFollowed) {
  Start();
  EXPECT_EQ(Stamp(), clock_.WallNs());
  StepWall(600 * kSecond);
  clock_.Advance(kSecond);
  EXPECT_EQ(Stamp(), clock_.WallNs());
  EXPECT_EQ(log_->Stats().clock_ahead_ns, 0);
}

TEST_F(AppendTime, Restart_ContinuesAfterLastRecord) {
  Start(2);
  StepWall(kHour - 10 * kSecond);
  const int64_t last = Stamp(0);
  StepWall(-kHour + 10 * kSecond);
  MustOpen();
  EXPECT_EQ(Stamp(0), last);
  clock_.Advance(90 * kSecond);
  // The log still accepts records from a source that keeps the old wall time.
  EXPECT_EQ(Stamp(0), last + 90 * kSecond);
  EXPECT_EQ(Stamp(1), last + 90 * kSecond) << "all partitions share one clock";
}

TEST_F(AppendTime, LastRecordFarInFuture_OtherPartitionsUseWallTime) {
  Start(2);
  StepWall(5 * kHour);
  Stamp(0);
  clock_.Advance(ClockStep::kHoldNs);
  const int64_t wrong = Stamp(0);
  EXPECT_EQ(wrong, clock_.WallNs());
  StepWall(-5 * kHour);
  MustOpen();
  clock_.Advance(90 * kSecond);
  EXPECT_EQ(Stamp(0), wrong) << "append time must not decrease within a partition";
  EXPECT_EQ(Stamp(1), clock_.WallNs()) << "the other partition is not affected";
  clock_.Advance(5 * kHour);
  EXPECT_EQ(Stamp(0), clock_.WallNs()) << "wall time has caught up";
}

// Regression test for issue 26, F1.
TEST_F(AppendTime, WallClock45DaysAheadFor25Seconds_IsNotFollowed) {
  Start();
  Stamp();
  StepWall(45 * 24 * kHour);
  for (int second = 0; second < 25; ++second) {
    clock_.Advance(kSecond);
    ASSERT_EQ(Stamp(), SourceTime());
  }
  StepWall(-45 * 24 * kHour);
  clock_.Advance(kSecond);
  EXPECT_EQ(Stamp(), clock_.WallNs());
}

TEST_F(AppendTime, RandomWallClockSteps_TimeNeverDecreases) {
  AppendClock clock(&clock_);
  int64_t last = clock.Now();
  SCOPED_TRACE("steps of many sizes");
  for (int i = 1; i < 200; ++i) {
    StepWall((i % 7 - 3) * 11 * kSecond);
    clock_.Advance(i % 5 * kSecond / 3);
    const int64_t now = clock.Now();
    ASSERT_GE(now, last + i % 5 * kSecond / 3);
    ASSERT_GE(now, clock_.WallNs());
    ASSERT_EQ(clock.AheadNs(), now - clock_.WallNs());
    last = now;
  }
}

}  // namespace
}  // namespace pitwall::log
