#include "services/self_metrics/memory_limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace pitwall::self_metrics {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() { EXPECT_NE(mkdtemp(root_.data()), nullptr); }
  ~MemoryLimitTest() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_ = (std::filesystem::temp_directory_path() / "memory-limit-XXXXXX").string();
};

TEST_F(MemoryLimitTest, ReturnsMinimumOfRamAndCgroups) {
  EXPECT_EQ(FindMemoryLimit(root_).bytes, 0U);
  Put("/proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(FindMemoryLimit(root_).bytes, size_t{8'000'000} * 1024);
  EXPECT_EQ(FindMemoryLimit(root_).source, "RAM");
  Put("/proc/self/cgroup", "0::/a/b\n");
  Put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(FindMemoryLimit(root_).source, "RAM");
  Put("/sys/fs/cgroup/a/memory.max", "536870912\n");
  EXPECT_EQ(FindMemoryLimit(root_).bytes, 536'870'912U);
  EXPECT_EQ(FindMemoryLimit(root_).source, "cgroup /sys/fs/cgroup/a/memory.max");
}

TEST_F(MemoryLimitTest, ReadsCgroupV1Limit) {
  Put("/proc/meminfo", "MemTotal:        8000000 kB\n");
  Put("/proc/self/cgroup", "5:cpu:/x\n4:memory:/j\n");
  Put("/sys/fs/cgroup/memory/j/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(FindMemoryLimit(root_).source, "RAM");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(FindMemoryLimit(root_).bytes, 1'000'000U);
}

TEST(MemoryLimit, OwnLimitIsKnown) { EXPECT_GT(FindMemoryLimit().bytes, 0U); }

}  // namespace
}  // namespace pitwall::self_metrics
