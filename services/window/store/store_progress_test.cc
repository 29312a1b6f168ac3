#include "services/window/store/store_progress.h"

#include <gtest/gtest.h>

#include <utility>

namespace pitwall::window {
namespace {

TEST(StoreProgress, StartsBeforeEveryPosition) {
  const StoreProgress progress;
  EXPECT_EQ(progress.sealed(), kMinPosition);
  EXPECT_EQ(progress.read_time().tick, kMinPosition);
  EXPECT_EQ(progress.read_time().attempt_at, kMinPosition);
  EXPECT_NE(progress.version(), 0U);
}

TEST(StoreProgress, FirstRowStartsAttempt) {
  StoreProgress progress;
  progress.AddRow(10);
  progress.AddRow(20);
  EXPECT_EQ(progress.read_time().attempt_at, 9);
  progress.BeginAttempt(14);
  progress.AddRow(30);
  EXPECT_EQ(progress.read_time().attempt_at, 14);
}

TEST(StoreProgress, VersionIncreasesWithEveryVisibleChange) {
  StoreProgress progress;
  uint64_t version = progress.version();
  const auto increased = [&] {
    return progress.version() > std::exchange(version, progress.version());
  };
  progress.FinishSealing(10);
  EXPECT_TRUE(increased());
  progress.BeginAttempt(5);
  EXPECT_TRUE(increased());
  progress.NoteChange();
  EXPECT_TRUE(increased());
  progress.Reset();
  EXPECT_TRUE(increased());
  progress.SetOrigin(3);
  progress.FinishSealing(20);
  EXPECT_TRUE(increased());
  progress.BeginTick(20);
  EXPECT_FALSE(increased());
}

TEST(StoreProgress, ResetKeepsOrigin) {
  StoreProgress progress;
  progress.SetOrigin(7);
  progress.StartSealing();
  progress.FinishSealing(10);
  progress.BeginTick(10);
  progress.Reset();
  EXPECT_EQ(progress.origin(), 7);
  EXPECT_EQ(progress.sealed(), kMinPosition);
  EXPECT_EQ(progress.tick(), kMinPosition);
  EXPECT_DEATH(progress.SetOrigin(8), "");
}

TEST(StoreProgress, OtherPositionsAbort) {
  StoreProgress progress;
  progress.FinishSealing(10);
  EXPECT_DEATH(progress.read_time(), "") << "sealed after the tick";
  EXPECT_DEATH(progress.BeginTick(9), "");
}

TEST(StoreProgress, LoadRejectsPositionsOutOfRange) {
  StoreProgress saved;
  saved.SetOrigin(3);
  saved.StartSealing();
  saved.AddRow(5);
  saved.FinishSealing(10);
  saved.BeginTick(10);
  BinaryWriter out;
  saved.Save(out);
  BinaryReader in(out.data());
  StoreProgress loaded;
  loaded.Load(in);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(loaded.origin(), 3);
  EXPECT_EQ(loaded.read_time().tick, 10);
  EXPECT_EQ(loaded.read_time().attempt_at, 4);

  BinaryWriter damaged;
  for (int i = 0; i < 4; ++i) damaged.I64(kMaxPosition + 1);
  damaged.Bool(true);
  BinaryReader rejected(damaged.data());
  loaded.Load(rejected);
  EXPECT_FALSE(rejected.ok());
}

}  // namespace
}  // namespace pitwall::window
