#include "services/history/store/waiting_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

WaitingFrame FrameOf(uint64_t schema_id, uint64_t sequence, size_t values = 1) {
  WaitingFrame frame;
  frame.schema_id = schema_id;
  frame.sequence = sequence;
  frame.values.resize(values);
  frame.since_ns = static_cast<int64_t>(sequence);
  return frame;
}

std::vector<uint64_t> SequencesOf(const std::vector<WaitingFrame>& frames) {
  std::vector<uint64_t> out;
  for (const WaitingFrame& frame : frames) out.push_back(frame.sequence);
  return out;
}

TEST(WaitingFrames, TakesFramesOfOneSchemaInOrder) {
  WaitingFrames frames;
  for (uint64_t sequence = 1; sequence <= 4; ++sequence)
    frames.Add(FrameOf(sequence % 2, sequence));
  EXPECT_THAT(SequencesOf(frames.Take(1)), ElementsAre(1, 3));
  EXPECT_THAT(frames.Take(1), IsEmpty());
  EXPECT_THAT(SequencesOf(frames.Take(0)), ElementsAre(2, 4));
  EXPECT_TRUE(frames.empty());
}

TEST(WaitingFrames, DropsOldFrames) {
  WaitingFrames frames;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) frames.Add(FrameOf(7, sequence));
  EXPECT_EQ(frames.DropBefore(1), 0U);
  EXPECT_EQ(frames.DropBefore(3), 2U);
  EXPECT_THAT(SequencesOf(frames.Take(7)), ElementsAre(3));
}

TEST(WaitingFrames, LimitExceeded_OldestFramesAreDropped) {
  constexpr size_t kValues = size_t{20} << 17;  // 20 MiB
  WaitingFrames frames;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence)
    EXPECT_EQ(frames.Add(FrameOf(7, sequence, kValues)), 0U);
  EXPECT_EQ(frames.Add(FrameOf(8, 4, kValues)), 1U);
  EXPECT_THAT(SequencesOf(frames.Take(7)), ElementsAre(2, 3));
  EXPECT_EQ(frames.Add(FrameOf(7, 5, kValues)), 0U) << "taken frames do not count";
}

}  // namespace
}  // namespace pitwall::history
