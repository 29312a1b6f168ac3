#include "services/engine/sources/job_clock.h"

#include <gtest/gtest.h>

#include "services/engine/sources/log_time.h"

namespace pitwall::engine {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;

TEST(JobClock, FirstAdvance_SetsOriginToFullSecond) {
  const EngineOptions options;
  JobClock clock(options);
  EXPECT_FALSE(clock.begun());
  EXPECT_EQ(clock.passed(), kMinPosition);
  clock.Advance(10 * kSecond + 7);
  EXPECT_TRUE(clock.begun());
  EXPECT_EQ(clock.origin(), 10 * kSecond);
  EXPECT_EQ(clock.next_step_judgement(), 15 * kSecond);
  clock.Advance(12 * kSecond);
  EXPECT_EQ(clock.origin(), 10 * kSecond);
  EXPECT_EQ(clock.watermark(), 12 * kSecond);
}

TEST(JobClock, ClampToFuture_MovesPassedPositionAfterWatermark) {
  const EngineOptions options;
  JobClock clock(options);
  EXPECT_EQ(clock.ClampToFuture(-5), -5);
  clock.Advance(kSecond);
  EXPECT_EQ(clock.ClampToFuture(kSecond), kSecond + 1);
  EXPECT_EQ(clock.ClampToFuture(2 * kSecond), 2 * kSecond);
}

TEST(JobClock, ResumedJob_HasNoWatermarkAndStartsAfterItsEnd) {
  const EngineOptions options;
  JobClock clock(options);
  clock.Advance(5 * kSecond);
  clock.NoteActivity(4 * kSecond);
  clock.Resume(6 * kSecond);
  EXPECT_FALSE(clock.begun());
  EXPECT_EQ(clock.passed(), 6 * kSecond);
  EXPECT_FALSE(clock.IsQuiet(100 * kSecond, 200 * kSecond, kSecond));
}

TEST(JobClock, IsQuiet_RequiresHorizonOnBothSides) {
  const EngineOptions options;
  JobClock clock(options);
  clock.Advance(kSecond);
  clock.NoteActivity(kSecond);
  EXPECT_FALSE(clock.IsQuiet(10 * kSecond, 100 * kSecond, 9 * kSecond));
  EXPECT_TRUE(clock.IsQuiet(11 * kSecond, 100 * kSecond, 9 * kSecond));
  EXPECT_FALSE(clock.IsQuiet(11 * kSecond, 20 * kSecond, 9 * kSecond));
}

TEST(JobClock, ExpiryIsDueOncePerInterval) {
  EngineOptions options;
  options.intervals.expiry_ns = 10 * kSecond;
  JobClock clock(options);
  EXPECT_TRUE(clock.FinishApplying(kSecond));
  EXPECT_FALSE(clock.FinishApplying(10 * kSecond));
  EXPECT_TRUE(clock.FinishApplying(11 * kSecond));
}

TEST(JobClock, Restore_ReproducesAllStateExceptFloor) {
  const EngineOptions options;
  JobClock saved(options);
  saved.Advance(3 * kSecond);
  saved.NoteBatch();
  saved.Advance(7 * kSecond);
  BinaryWriter writer;
  saved.Save(writer);
  const auto bytes = writer.Take();
  JobClock restored(options);
  BinaryReader reader(bytes);
  restored.Restore(reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(restored.watermark(), 7 * kSecond);
  EXPECT_EQ(restored.origin(), 3 * kSecond);
  EXPECT_EQ(restored.silent_ns(), 4 * kSecond);
}

TEST(LogTime, BlindTicks_CountUntilJobStarts) {
  EngineOptions options;
  options.liveness.idle_after_ns = 2 * kSecond;
  LogTime time;
  time.OnBatch(9 * kSecond);
  time.OnBatch(8 * kSecond);
  EXPECT_EQ(time.last_append_ns(), 9 * kSecond);
  EXPECT_FALSE(time.OnBlindTick(2 * kSecond, options));
  EXPECT_TRUE(time.OnBlindTick(1, options));
  time.Resume();
  EXPECT_FALSE(time.OnBlindTick(kSecond, options));
}

}  // namespace
}  // namespace pitwall::engine
