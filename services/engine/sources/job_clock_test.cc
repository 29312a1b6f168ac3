#include "services/engine/sources/job_clock.h"

#include <gtest/gtest.h>

#include "services/engine/sources/log_time.h"

namespace pitwall::engine {
namespace {

constexpr Duration kSecond = Duration::Seconds(1);

EventTime At(int64_t seconds) { return EventTime() + seconds * kSecond; }

TEST(JobClock, FirstAdvance_SetsOriginToFullSecond) {
  const EngineOptions options;
  JobClock clock(options);
  EXPECT_FALSE(clock.begun());
  EXPECT_EQ(clock.passed(), EventTime::Earliest());
  clock.Advance(At(10) + Duration::Nanos(7));
  EXPECT_TRUE(clock.begun());
  EXPECT_EQ(clock.origin(), At(10));
  EXPECT_EQ(clock.next_step_judgement(), At(15));
  clock.Advance(At(12));
  EXPECT_EQ(clock.origin(), At(10));
  EXPECT_EQ(clock.watermark(), At(12));
}

TEST(JobClock, ClampToFuture_MovesPassedTimeAfterWatermark) {
  const EngineOptions options;
  JobClock clock(options);
  EXPECT_EQ(clock.ClampToFuture(EventTime::FromNs(-5)), EventTime::FromNs(-5));
  EXPECT_EQ(clock.ClampToFuture(EventTime::Min()), EventTime::Earliest().Next());
  clock.Advance(At(1));
  EXPECT_EQ(clock.ClampToFuture(At(1)), At(1).Next());
  EXPECT_EQ(clock.ClampToFuture(At(2)), At(2));
}

TEST(JobClock, ResumedJob_HasNoWatermarkAndStartsAfterItsEnd) {
  const EngineOptions options;
  JobClock clock(options);
  clock.Advance(At(5));
  clock.NoteActivity(At(4));
  clock.Resume(At(6));
  EXPECT_FALSE(clock.begun());
  EXPECT_EQ(clock.passed(), At(6));
  EXPECT_FALSE(clock.IsQuiet(At(100), At(200), kSecond));
}

TEST(JobClock, IsQuiet_RequiresHorizonOnBothSides) {
  const EngineOptions options;
  JobClock clock(options);
  clock.Advance(At(1));
  clock.NoteActivity(At(1));
  EXPECT_FALSE(clock.IsQuiet(At(10), At(100), 9 * kSecond));
  EXPECT_TRUE(clock.IsQuiet(At(11), At(100), 9 * kSecond));
  EXPECT_FALSE(clock.IsQuiet(At(11), At(20), 9 * kSecond));
}

TEST(JobClock, ExpiryIsDueOncePerInterval) {
  EngineOptions options;
  options.intervals.expiry = 10 * kSecond;
  JobClock clock(options);
  EXPECT_TRUE(clock.FinishApplying(At(1)));
  EXPECT_FALSE(clock.FinishApplying(At(10)));
  EXPECT_TRUE(clock.FinishApplying(At(11)));
}

TEST(JobClock, Restore_ReproducesAllStateExceptFloor) {
  const EngineOptions options;
  JobClock saved(options);
  saved.Advance(At(3));
  saved.NoteBatch();
  saved.Advance(At(7));
  BinaryWriter writer;
  saved.Save(writer);
  const auto bytes = writer.Take();
  JobClock restored(options);
  BinaryReader reader(bytes);
  restored.Restore(reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(restored.watermark(), At(7));
  EXPECT_EQ(restored.origin(), At(3));
  EXPECT_EQ(restored.silence(), 4 * kSecond);
}

TEST(LogTime, BlindTicks_CountUntilJobStarts) {
  EngineOptions options;
  options.liveness.idle_after = 2 * kSecond;
  LogTime time;
  time.OnBatch(AppendTime() + 9 * kSecond);
  time.OnBatch(AppendTime() + 8 * kSecond);
  EXPECT_EQ(time.last_append(), AppendTime() + 9 * kSecond);
  EXPECT_FALSE(time.OnBlindTick(2 * kSecond, options));
  EXPECT_TRUE(time.OnBlindTick(Duration::Nanos(1), options));
  time.Resume();
  EXPECT_FALSE(time.OnBlindTick(kSecond, options));
}

}  // namespace
}  // namespace pitwall::engine
