#include "services/collector/ranks/update_progress.h"

#include <gtest/gtest.h>

#include "services/model/telemetry.h"

namespace pitwall::collector {
namespace {

uint64_t Written(const UpdateProgress& progress) {
  ClientCursor cursor;
  progress.Describe(&cursor);
  return cursor.written;
}

TEST(UpdateProgressTest, Gap_CountsMissingUpdates) {
  UpdateProgress progress(false, std::nullopt);
  EXPECT_EQ(progress.Receive(5), 0u);  // the client may have started earlier
  EXPECT_EQ(progress.Receive(6), 0u);
  EXPECT_EQ(progress.Receive(9), 2u);
  EXPECT_EQ(progress.received(), 9u);
}

TEST(UpdateProgressTest, HeldStep_LimitsWrittenUpdate) {
  UpdateProgress progress(true, std::nullopt);
  progress.Receive(1);
  progress.Hold("train", kNoStep);  // belongs to no step
  EXPECT_EQ(Written(progress), 1u);
  progress.Receive(2);
  progress.Hold("train", 7);
  progress.Receive(3);
  progress.Hold("train", 7);
  EXPECT_EQ(Written(progress), 1u);
  progress.ReleaseAll();
  EXPECT_EQ(Written(progress), 3u);
}

TEST(UpdateProgressTest, EndedStep_IsReleased) {
  UpdateProgress progress(true, std::nullopt);
  progress.Receive(1);
  progress.Hold("train", 7);
  progress.ReleaseEnded(steps::StepSeries(steps::Options()));  // holds no step
  EXPECT_EQ(Written(progress), 1u);
}

TEST(UpdateProgressTest, ResendingClient_ReplaysUpdatesOfPreviousCollector) {
  UpdateProgress progress(true, ClientCursor{.received = 4, .written = 2});
  EXPECT_EQ(progress.received(), 2u);
  EXPECT_EQ(progress.Receive(3), 0u);
  EXPECT_TRUE(progress.replayed());
  progress.Receive(5);
  EXPECT_FALSE(progress.replayed());
}

TEST(UpdateProgressTest, OtherClient_ContinuesAfterReceivedUpdate) {
  UpdateProgress progress(false, ClientCursor{.received = 4, .written = 2});
  EXPECT_EQ(progress.Receive(6), 1u);
  EXPECT_FALSE(progress.replayed());
}

TEST(UpdateProgressTest, DroppedTotal_IsCountedOnce) {
  UpdateProgress progress(false, std::nullopt);
  EXPECT_EQ(progress.CountDropped(3), 3u);
  EXPECT_EQ(progress.CountDropped(3), 0u);
  EXPECT_EQ(progress.CountDropped(5), 2u);
}

}  // namespace
}  // namespace pitwall::collector
