#include "services/app/host/file_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/fake_clock.h"

namespace pitwall {
namespace {

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() {
    std::string place = testing::TempDir() + "file_watch.XXXXXX";
    folder_ = mkdtemp(place.data());
  }
  ~FileWatchTest() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(FileWatchTest, Changed_FileStable_ReportedOnce) {
  FileChangeDetector detector({Write("rules.yaml", "a")});
  EXPECT_FALSE(detector.Changed());
  Write("rules.yaml", "b");
  EXPECT_FALSE(detector.Changed()) << "the file may be incomplete";
  Write("rules.yaml", "c");
  EXPECT_FALSE(detector.Changed());
  EXPECT_TRUE(detector.Changed());
  EXPECT_FALSE(detector.Changed());
}

TEST_F(FileWatchTest, Changed_ContentRestored_NotReported) {
  FileChangeDetector detector({Write("rules.yaml", "a")});
  Write("rules.yaml", "b");
  EXPECT_FALSE(detector.Changed());
  Write("rules.yaml", "a");
  EXPECT_FALSE(detector.Changed());
  EXPECT_FALSE(detector.Changed());
}

// The kubelet updates a volume by replacing a link that other links point to.
TEST_F(FileWatchTest, Changed_KubernetesVolumeReplaced_Reported) {
  namespace fs = std::filesystem;
  for (const std::string version : {"1", "2"}) {
    fs::create_directory(folder_ + "/" + version);
    Write(version + "/own.yaml", "version " + version);
  }
  fs::create_symlink("1", folder_ + "/..data");
  fs::create_symlink("..data/own.yaml", folder_ + "/own.yaml");
  FileChangeDetector detector({folder_ + "/own.yaml"});
  fs::create_symlink("2", folder_ + "/..next");
  fs::rename(folder_ + "/..next", folder_ + "/..data");
  EXPECT_FALSE(detector.Changed());
  EXPECT_TRUE(detector.Changed());
}

TEST_F(FileWatchTest, Changed_FileCreatedOrRemoved_Reported) {
  FileChangeDetector detector({folder_, folder_ + "/missing.yaml"});
  const std::string file = Write("summary.yaml", "a");
  EXPECT_FALSE(detector.Changed());
  EXPECT_TRUE(detector.Changed());
  std::filesystem::remove(file);
  EXPECT_FALSE(detector.Changed());
  EXPECT_TRUE(detector.Changed());
}

TEST_F(FileWatchTest, FileWatch_FileChanged_CallsBackAtInterval) {
  fakes::FakeClock clock;
  const std::string file = Write("rules.yaml", "a");
  const std::string other = Write("other.yaml", "a");
  std::atomic<int> calls{0};
  const auto pass = [&] {
    clock.AwaitWaiters(1);
    clock.Advance(kNanosPerSecond);
    clock.AwaitWaiters(1);
  };
  FileWatch watch(&clock, kNanosPerSecond, {file}, [&] { ++calls; });
  clock.AwaitWaiters(1);
  Write("rules.yaml", "b");
  pass();
  EXPECT_EQ(calls, 0);
  pass();
  EXPECT_EQ(calls, 1);
  watch.Watch({other});
  pass();
  EXPECT_EQ(calls, 2) << "the new list is reported once";
  watch.Watch({other});
  Write("rules.yaml", "c");
  pass();
  pass();
  EXPECT_EQ(calls, 2) << "the file is no longer watched";
  Write("other.yaml", "b");
  pass();
  pass();
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace pitwall
