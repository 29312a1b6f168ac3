#include "services/window/store/store_progress.h"

#include <gtest/gtest.h>

#include <utility>

#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

TEST(StoreProgress, StartsBeforeEveryPosition) {
  const StoreProgress progress;
  EXPECT_EQ(progress.sealed(), Position::Earliest());
  EXPECT_EQ(progress.read_time().tick, Position::Earliest());
  EXPECT_EQ(progress.read_time().attempt_at, Position::Earliest());
  EXPECT_NE(progress.version(), 0U);
}

TEST(StoreProgress, FirstRowStartsAttempt) {
  StoreProgress progress;
  progress.AddRow(At(10));
  progress.AddRow(At(20));
  EXPECT_EQ(progress.read_time().attempt_at, At(9));
  progress.BeginAttempt(At(14));
  progress.AddRow(At(30));
  EXPECT_EQ(progress.read_time().attempt_at, At(14));
}

TEST(StoreProgress, VersionIncreasesWithEveryVisibleChange) {
  StoreProgress progress;
  uint64_t version = progress.version();
  const auto increased = [&] {
    return progress.version() > std::exchange(version, progress.version());
  };
  progress.FinishSealing(At(10));
  EXPECT_TRUE(increased());
  progress.BeginAttempt(At(5));
  EXPECT_TRUE(increased());
  progress.NoteChange();
  EXPECT_TRUE(increased());
  progress.Reset();
  EXPECT_TRUE(increased());
  progress.SetOrigin(At(3));
  progress.FinishSealing(At(20));
  EXPECT_TRUE(increased());
  progress.BeginTick(At(20));
  EXPECT_FALSE(increased());
}

TEST(StoreProgress, ResetKeepsOrigin) {
  StoreProgress progress;
  progress.SetOrigin(At(7));
  progress.StartSealing();
  progress.FinishSealing(At(10));
  progress.BeginTick(At(10));
  progress.Reset();
  EXPECT_EQ(progress.origin(), At(7));
  EXPECT_EQ(progress.sealed(), Position::Earliest());
  EXPECT_EQ(progress.tick(), Position::Earliest());
  EXPECT_DEATH(progress.SetOrigin(At(8)), "");
}

TEST(StoreProgress, InvalidPositionsAbort) {
  StoreProgress progress;
  progress.FinishSealing(At(10));
  EXPECT_DEATH(progress.read_time(), "") << "sealed after the tick";
  EXPECT_DEATH(progress.BeginTick(At(9)), "");
}

TEST(StoreProgress, LoadRejectsPositionsOutOfRange) {
  StoreProgress saved;
  saved.SetOrigin(At(3));
  saved.StartSealing();
  saved.AddRow(At(5));
  saved.FinishSealing(At(10));
  saved.BeginTick(At(10));
  BinaryWriter out;
  saved.Save(out);
  BinaryReader in(out.data());
  StoreProgress loaded;
  loaded.Load(in);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(loaded.origin(), At(3));
  EXPECT_EQ(loaded.read_time().tick, At(10));
  EXPECT_EQ(loaded.read_time().attempt_at, At(4));

  BinaryWriter damaged;
  for (int i = 0; i < 4; ++i) damaged.I64(Position::Latest().Next().ns());
  damaged.Bool(true);
  BinaryReader rejected(damaged.data());
  loaded.Load(rejected);
  EXPECT_FALSE(rejected.ok());
}

}  // namespace
}  // namespace pitwall::window
