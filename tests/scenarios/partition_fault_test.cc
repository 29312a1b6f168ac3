// Tests that a publisher continues with the other partitions if writes to one partition of the real
// embedded log fail, as if its directory were on a failing file system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/collector/publishing/publisher.h"

namespace pitwall {
namespace {

namespace fs = std::filesystem;

class PartitionFault : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / Cat("partition-fault-", ::getpid());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    log::EmbeddedLogOptions options;
    options.dir = (dir_ / "log").string();
    options.fsync = log::FsyncPolicy::kNever;
    options.background = false;
    options.segment_bytes = 1;  // each append starts a new file
    auto opened = log::OpenEmbeddedLog(options, &clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    log_ = *std::move(opened);
    ASSERT_TRUE(log_->EnsureTopic("t", {.partitions = 2}).ok());
    auto appender = log_->OpenAppender();
    ASSERT_TRUE(appender.ok());
    appender_ = *std::move(appender);
    for (int i = 0; good_.empty() || bad_.empty(); ++i)
      (PartitionOf(Cat("job-", i), 2) == 0 ? good_ : bad_) = Cat("job-", i);
  }
  void TearDown() override {
    publisher_.reset();
    appender_.reset();
    log_.reset();
    if (!mounted_.empty()) ::umount2(mounted_.c_str(), MNT_DETACH);
    fs::remove_all(dir_);
  }
  void StartPublisher() {
    collector::PublisherOptions options;
    options.topic = "t";
    options.spool_dir = (dir_ / "spool").string();
    options.first_backoff_ns = options.last_backoff_ns = 20 * kNanosPerMilli;
    publisher_ = std::make_unique<collector::Publisher>(options, clock_, appender_.get(),
                                                        &counters_, &cursors_);
    ASSERT_TRUE(publisher_->Start().ok());
  }
  std::vector<std::string> Values(int32_t partition) {
    auto reader = log_->OpenReader({"t", partition}, kFromStart);
    EXPECT_TRUE(reader.ok());
    const auto end = (*reader)->EndOffset();
    std::vector<Record> records;
    while (reader.ok() && (*reader)->position() < *end)
      EXPECT_TRUE((*reader)->Poll(1000, 1 << 20, Duration::Zero(), &records).ok());
    std::vector<std::string> values;
    for (const Record& record : records) {
      if (values.empty() || values.back() != record.value) values.push_back(record.value);
    }
    return values;
  }
  void AwaitValues(int32_t partition, size_t count) {
    const int64_t until_ns = clock_.MonotonicNs() + 30 * kNanosPerSecond;
    while (Values(partition).size() < count) ASSERT_LT(clock_.MonotonicNs(), until_ns);
  }
  // Returns the directory in which a record for this job created files.
  fs::path DirectoryOf(const std::string& job) {
    std::map<fs::path, size_t> before = Files();
    publisher_->Offer(job, "0");
    AwaitValues(PartitionOf(job, 2), 1);
    for (const auto& [path, count] : Files()) {
      if (count > before[path] && path != dir_ / "log") return path;
    }
    ADD_FAILURE() << "no directory of a partition";
    return {};
  }
  std::map<fs::path, size_t> Files() {
    std::map<fs::path, size_t> count;
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "log")) {
      if (entry.is_regular_file()) ++count[entry.path().parent_path()];
    }
    return count;
  }

  fs::path dir_, mounted_;
  clock::SystemClock clock_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Appender> appender_;
  std::string good_, bad_;
  collector::Counters counters_;
  collector::ClientCursors cursors_;
  std::unique_ptr<collector::Publisher> publisher_;
};

TEST_F(PartitionFault, OtherPartitionsContinueWithoutLoss) {
  StartPublisher();
  const fs::path directory = DirectoryOf(bad_);
  ASSERT_FALSE(directory.empty());
  const fs::path aside = dir_ / "aside";
  fs::rename(directory, aside);
  std::ofstream(directory) << "a file where the directory was";
  for (int i = 1; i < 50; ++i) {
    publisher_->Offer(bad_, Cat(i));
    publisher_->Offer(good_, Cat(i));
    AwaitValues(0, static_cast<size_t>(i));
  }
  EXPECT_GT(counters_.append_failures, 0u);
  EXPECT_EQ(counters_.lanes_failing, 1u);
  fs::remove(directory);
  fs::rename(aside, directory);
  AwaitValues(1, 50);
  publisher_->Stop();
  std::vector<std::string> all;
  for (int i = 0; i < 50; ++i) all.push_back(Cat(i));
  EXPECT_EQ(Values(1), all);
  EXPECT_EQ(Values(0), std::vector<std::string>(all.begin() + 1, all.end()));
  EXPECT_EQ(counters_.lanes_failing, 0u);
}

TEST_F(PartitionFault, FileSystemOfOnePartitionFull_OthersContinue) {
  StartPublisher();
  const fs::path directory = DirectoryOf(bad_);
  ASSERT_FALSE(directory.empty());
  const fs::path aside = dir_ / "aside";
  fs::rename(directory, aside);
  fs::create_directory(directory);
  // A mount namespace would apply only to this thread, but the publisher's threads also write.
  if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") != 0) {
    const int error = errno;
    fs::remove(directory);
    fs::rename(aside, directory);
    GTEST_SKIP() << "mounting a tmpfs failed (" << std::strerror(error) << "); run as root";
  }
  mounted_ = directory;
  for (const auto& entry : fs::directory_iterator(aside))
    fs::copy(entry.path(), directory / entry.path().filename());
  const fs::path filler = directory / "filler";
  {
    std::ofstream out(filler, std::ios::binary);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  for (int i = 1; i < 30; ++i) {
    publisher_->Offer(bad_, Cat(i));
    publisher_->Offer(good_, Cat(i));
    AwaitValues(0, static_cast<size_t>(i));
  }
  const int64_t until_ns = clock_.MonotonicNs() + 30 * kNanosPerSecond;
  while (counters_.lanes_failing != 1u) ASSERT_LT(clock_.MonotonicNs(), until_ns);
  EXPECT_GT(counters_.append_failures, 0u);
  EXPECT_EQ(Values(1).size(), 1u);
  fs::remove(filler);
  AwaitValues(1, 30);
  publisher_->Stop();
  std::vector<std::string> all;
  for (int i = 0; i < 30; ++i) all.push_back(Cat(i));
  EXPECT_EQ(Values(1), all);
  EXPECT_EQ(Values(0), std::vector<std::string>(all.begin() + 1, all.end()));
  EXPECT_EQ(counters_.lanes_failing, 0u);
}

}  // namespace
}  // namespace pitwall
