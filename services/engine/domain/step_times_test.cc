#include "services/engine/domain/step_times.h"

#include <gtest/gtest.h>

#include "services/engine/domain/step_patience.h"

namespace pitwall::engine {
namespace {

EventTime At(int64_t ns) { return EventTime::FromNs(ns); }

TEST(StepTimes, StepJump_CountsOnce) {
  StepTimes times(100);
  times.Saw(Step(1), At(10));
  times.Saw(Step(1'000'000'000), At(20));
  times.Saw(Step(2), At(30));  // Not a new maximum, so it does not count.
  EXPECT_EQ(times.count(), 2U);
  EXPECT_EQ(times.CountAfter(Step::None()), 2U);
  EXPECT_EQ(times.CountAfter(Step(1)), 1U);
  EXPECT_EQ(times.CountAfter(Step(2)), 1U);
  EXPECT_EQ(times.CountAfter(Step(1'000'000'000)), 0U);
}

TEST(StepTimes, ForgottenSteps_AreNotCounted) {
  StepTimes times(4);
  for (int64_t step = 0; step < 10; ++step) times.Saw(Step(step), At(step));
  EXPECT_EQ(times.count(), 10U);
  EXPECT_EQ(times.CountAfter(Step(7)), 2U);
  EXPECT_EQ(times.CountAfter(Step(0)), 4U);
}

TEST(StepTimes, Spread_IsRatioOfLongestToMedianStep) {
  StepTimes times(1000);
  EXPECT_EQ(times.Spread(), 1);
  int64_t now = 0;
  for (int64_t step = 0; step < 20; ++step) times.Saw(Step(step), At(now += step == 10 ? 50 : 10));
  EXPECT_EQ(times.Spread(), 5);
}

TEST(StepTimes, SaveAndRestore_KeepsCounts) {
  StepTimes times(4);
  for (int64_t step = 0; step < 10; step += 2) times.Saw(Step(step), At(step));
  BinaryWriter out;
  times.Save(out);
  StepTimes restored(4);
  BinaryReader in(out.data());
  restored.Restore(in, /*ordinals=*/true);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(restored.count(), times.count());
  EXPECT_EQ(restored.CountAfter(Step(5)), times.CountAfter(Step(5)));
}

TEST(StepPatience, WaitsForFourLongestSteps) {
  StepTimes times(1000);
  StepPatience patience;
  EXPECT_EQ(patience.Steps(times), StepPatience::kFewest);
  int64_t now = 0;
  for (int64_t step = 0; step < 20; ++step) times.Saw(Step(step), At(now += step == 10 ? 500 : 10));
  EXPECT_EQ(patience.Steps(times), 200U);
}

TEST(StepPatience, WaitsForFourPromiseIntervals) {
  const StepTimes times(1000);
  StepPatience patience;
  patience.Promised(100);
  EXPECT_EQ(patience.Steps(times), 400U);
  for (int i = 0; i < 200; ++i) patience.Promised(1);
  EXPECT_EQ(patience.Steps(times), StepPatience::kFewest);
}

}  // namespace
}  // namespace pitwall::engine
