#include "services/app/host/private_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace pitwall {
namespace {

class PrivateDirectoryTest : public ::testing::Test {
 protected:
  PrivateDirectoryTest() { std::filesystem::remove_all(path_); }
  ~PrivateDirectoryTest() override { std::filesystem::remove_all(path_); }
  unsigned Mode() const {
    struct stat info {};
    EXPECT_EQ(::stat(path_.c_str(), &info), 0);
    return info.st_mode & 07777U;
  }

  const std::string path_ = ::testing::TempDir() + "pitwall_private_directory";
};

TEST_F(PrivateDirectoryTest, NewDirectoryIsAccessibleOnlyToOwner) {
  ASSERT_TRUE(MakePrivateDirectory(path_).ok());
  EXPECT_EQ(Mode(), 0700U);
  EXPECT_TRUE(MakePrivateDirectory(path_).ok());
  EXPECT_EQ(Mode(), 0700U);
}

TEST_F(PrivateDirectoryTest, ExistingDirectoryKeepsOnlyExecuteForOthers) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0775), 0);
  ASSERT_TRUE(MakePrivateDirectory(path_).ok());
  EXPECT_EQ(Mode(), 0711U);
}

TEST_F(PrivateDirectoryTest, MissingParent_ReturnsError) {
  EXPECT_FALSE(MakePrivateDirectory(path_ + "/a/b").ok());
}

}  // namespace
}  // namespace pitwall
