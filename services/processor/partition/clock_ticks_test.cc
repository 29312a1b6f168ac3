#include "services/processor/partition/clock_ticks.h"

#include <gtest/gtest.h>

#include "services/processor/partition/end_probe.h"

namespace pitwall::processor {
namespace {

class ClockTicksTest : public ::testing::Test {
 protected:
  PartitionOptions options_{.max_tick_ns = 20, .outage_grace_ns = 150};
  ClockTicks ticks_{options_};
};

TEST_F(ClockTicksTest, FirstTickCarriesNoTime) {
  ticks_.Start(100);
  EXPECT_EQ(ticks_.ElapsedAt(500), 0);
  ticks_.NoteCommitted(500);
  EXPECT_EQ(ticks_.ElapsedAt(510), 10);
  EXPECT_EQ(ticks_.ElapsedAt(900), 20) << "the maximum";
  ticks_.Start(900);
  EXPECT_EQ(ticks_.ElapsedAt(910), 0);
}

TEST_F(ClockTicksTest, RestartPausesTicks) {
  ticks_.Start(100);
  EXPECT_TRUE(ticks_.Allowed(100));
  ticks_.Start(200);
  EXPECT_FALSE(ticks_.Allowed(349));
  EXPECT_TRUE(ticks_.Allowed(350));
}

TEST_F(ClockTicksTest, FailedOrSlowAppendPausesTicks) {
  ticks_.NoteAppend(0, 20, OkStatus());
  EXPECT_TRUE(ticks_.Allowed(20));
  ticks_.NoteAppend(20, 20, InvalidArgument("too large"));
  EXPECT_TRUE(ticks_.Allowed(20));
  ticks_.NoteAppend(20, 41, OkStatus());
  EXPECT_FALSE(ticks_.Allowed(190));
  EXPECT_TRUE(ticks_.Allowed(191));
  ticks_.NoteAppend(200, 200, Unavailable("broker away"));
  EXPECT_FALSE(ticks_.Allowed(349));
}

TEST_F(ClockTicksTest, DisabledTicksAreNeverAllowed) {
  options_.clock_ticks = false;
  EXPECT_FALSE(ticks_.Allowed(1'000));
}

TEST(EndProbe, CommitAtEnd_IsCaughtUpAtProbe) {
  EndProbe probe;
  probe.NoteRecovery(5);
  EXPECT_TRUE(probe.Due(0, 10));
  EXPECT_FALSE(probe.Reached(100)) << "the end is unknown";
  probe.NoteEnd(7);
  probe.NoteProbe(20);
  EXPECT_FALSE(probe.Due(29, 10));
  EXPECT_TRUE(probe.Due(30, 10));
  probe.NoteCommitted(6);
  EXPECT_EQ(probe.caught_up_ns(), 5);
  probe.NoteCommitted(7);
  EXPECT_EQ(probe.caught_up_ns(), 20);
  probe.ForgetEnd();
  EXPECT_FALSE(probe.Reached(7));
  EXPECT_FALSE(probe.Due(29, 10)) << "a forgotten end does not cause another probe";
  probe.Restart();
  EXPECT_TRUE(probe.Due(21, 10));
}

}  // namespace
}  // namespace pitwall::processor
