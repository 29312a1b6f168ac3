// Tests for committed positions and epochs.
#include "services/adapters/embedded_log/format/committed_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pitwall::log {
namespace {

GroupPosition At(std::string group, int64_t offset) {
  return {.group = std::move(group), .key = {1, 0}, .at = {offset, "m"}};
}

TEST(CommittedGroups, KeepsNewestPositionAndEpoch) {
  CommittedGroups groups;
  groups.Apply({At("g", 1)}, {{"c", 1}});
  groups.Apply({At("g", 2)}, {{"c", 2}});
  EXPECT_EQ(groups.Position("g", {1, 0})->offset, 2);
  EXPECT_EQ(groups.Position("g", {1, 1}), std::nullopt);
  EXPECT_EQ(groups.Epoch("c"), 2u);
  EXPECT_EQ(groups.Epoch("d"), 0u);
}

TEST(CommittedGroups, FullTableAcceptsOnlyKnownKeys) {
  CommittedGroups groups;
  std::vector<GroupPosition> positions;
  for (size_t i = 0; i < kMaxGroupPositions; ++i) positions.push_back(At(std::to_string(i), 1));
  groups.Apply(positions, {});
  const GroupPosition known = At("0", 2);
  const GroupPosition other = At("x", 2);
  EXPECT_TRUE(groups.CheckRoom(&known, "").ok());
  EXPECT_EQ(groups.CheckRoom(&other, "").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(groups.CheckRoom(nullptr, "committer").ok());
}

TEST(CommittedGroups, CheckpointHoldsAllItemsInLimitedFrames) {
  CommittedGroups groups;
  std::vector<GroupPosition> positions;
  for (int i = 0; i < 600; ++i) positions.push_back(At(std::to_string(i), i));
  groups.Apply(positions, {{"c", 7}});
  CheckpointFrames frames(9);
  groups.AddTo(&frames);
  const std::vector<Frame> all = frames.Finish();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].positions.size() + all[1].positions.size(), 600u);
  EXPECT_EQ(all[1].epochs.size(), 1u);
  EXPECT_EQ(all[2].kind, FrameKind::kCheckpointEnd);
  EXPECT_EQ(all[2].sequence, 9u);
}

}  // namespace
}  // namespace pitwall::log
