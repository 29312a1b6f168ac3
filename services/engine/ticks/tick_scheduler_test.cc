#include "services/engine/ticks/tick_scheduler.h"

#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

constexpr char kTwoGroups[] = R"rules(
groups:
- {name: fast, interval: 2s, rules: [{alert: A, expr: "m > 1"}]}
- {name: slow, interval: 5s, rules: [{alert: B, expr: "m > 2"}]}
)rules";

class TickSchedulerTest : public testing::Test {
 protected:
  TickSchedulerTest()
      : program_(ProgramForTest(kTwoGroups)), inputs_(program_, 0, {}), ticks_(&inputs_) {}

  int64_t NextSecond() const { return ticks_.NextTick().ns() / kNanosPerSecond; }
  static Position Second(int64_t n) { return Position() + Duration::Seconds(n); }
  // Takes the next tick and returns the due groups as "0", "1", or "01".
  std::string Take() {
    const Position tick = ticks_.NextTick();
    ticks_.BeginTick(tick);
    inputs_.BeginTick(tick);
    std::string due;
    for (size_t group : {0, 1}) {
      if (ticks_.TakeTick(group, tick)) CatTo(due, group);
    }
    return due;
  }

  plan::ProgramPtr program_;
  DomainInputs inputs_;
  TickScheduler ticks_;
};

TEST_F(TickSchedulerTest, WithoutOrigin_NoTickIsDue) {
  EXPECT_EQ(ticks_.NextTick(), Position::Latest());
  EXPECT_EQ(ticks_.StartOfReload(Position::FromNs(7)).after, Position::Earliest());
}

TEST_F(TickSchedulerTest, GroupsAreDueAtMultiplesOfTheirIntervals) {
  ticks_.SetOrigin(Second(3), Position::Earliest());
  EXPECT_EQ(NextSecond(), 4);
  EXPECT_EQ(Take(), "0");
  EXPECT_EQ(Take(), "1");
  EXPECT_EQ(Take(), "0");
  EXPECT_EQ(Take(), "0");
  EXPECT_EQ(NextSecond(), 10);
  EXPECT_EQ(Take(), "01");
  EXPECT_EQ(ticks_.last_tick(), Second(10));
  EXPECT_TRUE(ticks_.WasDue(Duration::Seconds(5), /*align_job=*/false));
  EXPECT_FALSE(ticks_.WasDue(Duration::Seconds(4), /*align_job=*/false));
}

TEST_F(TickSchedulerTest, SkipTo_KeepsLastTickOfEachGroup) {
  ticks_.SetOrigin(Second(1), Position::Earliest());
  ticks_.SkipTo(Second(19));
  EXPECT_EQ(NextSecond(), 15);
  EXPECT_EQ(Take(), "1");
  EXPECT_EQ(NextSecond(), 18);
}

TEST_F(TickSchedulerTest, SkipQuiet_SkipsOnlyAfterHorizon) {
  ticks_.SetOrigin(Second(1), Position::Earliest());
  Take();
  const Position next = ticks_.NextTick();
  ticks_.SkipQuiet(next + 1000 * ticks_.quiet_horizon());
  EXPECT_EQ(ticks_.NextTick(), next) << "the last row is too new";
  const Position quiet = next + 2 * ticks_.quiet_horizon();
  ticks_.SkipTo(quiet);
  ticks_.SkipQuiet(quiet + 2 * ticks_.quiet_horizon());
  EXPECT_GT(ticks_.NextTick(), quiet + ticks_.quiet_horizon());
}

TEST_F(TickSchedulerTest, Restart_WaitsForNextStart) {
  ticks_.SetOrigin(Second(1), Position::Earliest());
  Take();
  ticks_.Restart();
  EXPECT_EQ(ticks_.NextTick(), Position::Latest());
  ticks_.StartAt(Second(7));
  EXPECT_EQ(NextSecond(), 8);
  ticks_.StartAt(Second(100));
  EXPECT_EQ(NextSecond(), 8) << "already scheduled";
}

TEST_F(TickSchedulerTest, RestoredScheduler_ContinuesSchedule) {
  ticks_.SetOrigin(Second(1), Position::Earliest());
  Take();
  BinaryWriter saved;
  ticks_.SetWatermark(Position::FromNs(17));
  ticks_.Save(saved);
  for (size_t group : {0, 1}) ticks_.SaveGroup(group, saved);
  TickScheduler restored(&inputs_);
  BinaryReader in(saved.data());
  restored.Restore(in);
  for (size_t group : {0, 1}) restored.RestoreGroup(group, in);
  ASSERT_TRUE(in.Finish("ticks").ok());
  EXPECT_EQ(restored.watermark(), Position::FromNs(17));
  EXPECT_EQ(restored.NextTick(), ticks_.NextTick());
  EXPECT_EQ(restored.last_tick(), ticks_.last_tick());
}

}  // namespace
}  // namespace pitwall::engine
