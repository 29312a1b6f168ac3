#include "services/processor/partition/clock_ticks.h"

#include <gtest/gtest.h>

#include "services/processor/partition/end_probe.h"

namespace pitwall::processor {
namespace {

MonotonicTime At(int64_t ns) { return MonotonicTime::FromNs(ns); }

class ClockTicksTest : public ::testing::Test {
 protected:
  PartitionOptions options_{.max_tick = Duration::Nanos(20), .outage_grace = Duration::Nanos(150)};
  ClockTicks ticks_{options_};
};

TEST_F(ClockTicksTest, FirstTickCarriesNoTime) {
  ticks_.Start(At(100));
  EXPECT_EQ(ticks_.ElapsedAt(At(500)), Duration::Zero());
  ticks_.NoteCommitted(At(500));
  EXPECT_EQ(ticks_.ElapsedAt(At(510)), Duration::Nanos(10));
  EXPECT_EQ(ticks_.ElapsedAt(At(900)), Duration::Nanos(20)) << "the maximum";
  ticks_.Start(At(900));
  EXPECT_EQ(ticks_.ElapsedAt(At(910)), Duration::Zero());
}

TEST_F(ClockTicksTest, RestartPausesTicks) {
  ticks_.Start(At(100));
  EXPECT_TRUE(ticks_.Allowed(At(100)));
  ticks_.Start(At(200));
  EXPECT_FALSE(ticks_.Allowed(At(349)));
  EXPECT_TRUE(ticks_.Allowed(At(350)));
}

TEST_F(ClockTicksTest, FailedOrSlowAppendPausesTicks) {
  ticks_.NoteAppend(At(0), At(20), OkStatus());
  EXPECT_TRUE(ticks_.Allowed(At(20)));
  ticks_.NoteAppend(At(20), At(20), InvalidArgument("too large"));
  EXPECT_TRUE(ticks_.Allowed(At(20)));
  ticks_.NoteAppend(At(20), At(41), OkStatus());
  EXPECT_FALSE(ticks_.Allowed(At(190)));
  EXPECT_TRUE(ticks_.Allowed(At(191)));
  ticks_.NoteAppend(At(200), At(200), Unavailable("broker away"));
  EXPECT_FALSE(ticks_.Allowed(At(349)));
}

TEST_F(ClockTicksTest, DisabledTicksAreNeverAllowed) {
  options_.clock_ticks = false;
  EXPECT_FALSE(ticks_.Allowed(At(1'000)));
}

TEST(EndProbe, CommitAtEnd_IsCaughtUpAtProbe) {
  EndProbe probe;
  probe.NoteRecovery(At(5));
  EXPECT_TRUE(probe.Due(At(0), Duration::Nanos(10)));
  EXPECT_FALSE(probe.Reached(100)) << "the end is unknown";
  probe.NoteEnd(7);
  probe.NoteProbe(At(20));
  EXPECT_FALSE(probe.Due(At(29), Duration::Nanos(10)));
  EXPECT_TRUE(probe.Due(At(30), Duration::Nanos(10)));
  probe.NoteCommitted(6);
  EXPECT_EQ(probe.caught_up(), At(5));
  probe.NoteCommitted(7);
  EXPECT_EQ(probe.caught_up(), At(20));
  probe.ForgetEnd();
  EXPECT_FALSE(probe.Reached(7));
  EXPECT_FALSE(probe.Due(At(29), Duration::Nanos(10)))
      << "a forgotten end does not cause another probe";
  probe.Restart();
  EXPECT_TRUE(probe.Due(At(21), Duration::Nanos(10)));
}

}  // namespace
}  // namespace pitwall::processor
