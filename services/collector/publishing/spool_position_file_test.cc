#include "services/collector/publishing/spool_position_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "services/collector/files/testing/temporary_root.h"

namespace pitwall::collector {
namespace {

SpoolPosition Read(const TestRoot& root) {
  SpoolPositionFile file;
  const auto position = file.Open(root.path());
  EXPECT_TRUE(position.ok()) << position.status();
  return *position;
}

TEST(SpoolPositionFileTest, NewFile_HasNoPosition) {
  const TestRoot root;
  EXPECT_EQ(Read(root), SpoolPosition{});
}

TEST(SpoolPositionFileTest, NewestSave_IsRestored) {
  const TestRoot root;
  {
    SpoolPositionFile file;
    ASSERT_TRUE(file.Open(root.path()).ok());
    for (uint64_t offset : {8, 20, 90}) ASSERT_TRUE(file.Save({3, offset, 1}).ok());
    EXPECT_TRUE(file.Sync());
  }
  EXPECT_EQ(Read(root), (SpoolPosition{3, 90, 0}));
  EXPECT_EQ(Read(root).index, 0u);
}

TEST(SpoolPositionFileTest, TornSlot_LeavesPreviousPosition) {
  const TestRoot root;
  {
    SpoolPositionFile file;
    ASSERT_TRUE(file.Open(root.path()).ok());
    ASSERT_TRUE(file.Save({3, 8, 0}).ok());
    ASSERT_TRUE(file.Save({4, 8, 0}).ok());  // the second save is in the first slot
  }
  std::fstream file(root.At("position"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4);
  file << "torn";
  file.close();
  EXPECT_EQ(Read(root), (SpoolPosition{3, 8, 0}));
}

}  // namespace
}  // namespace pitwall::collector
