#include "services/collector/publishing/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>

#include "services/base/text/strings.h"
#include "services/collector/files/testing/temporary_root.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SpoolTest : public ::testing::Test {
 protected:
  std::string dir() const { return root_.At("spool"); }
  std::unique_ptr<Spool> Open(uint64_t bytes = 1u << 20) {
    auto spool = Spool::Open(dir(), bytes, &counters_);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return spool.ok() ? *std::move(spool) : nullptr;
  }
  static PendingRecord Record(int i, size_t bytes = 0) {
    return {Cat("job-", i % 3), Cat("value ", i, std::string(bytes, 'x')), Cat("note ", i)};
  }
  static void Append(Spool& spool, int from, int to, size_t bytes = 0) {
    std::vector<PendingRecord> records;
    for (int i = from; i < to; ++i) records.push_back(Record(i, bytes));
    Spool::Position end;
    ASSERT_TRUE(spool.Append(records, &end).ok());
  }
  // Reads the numbers of the next records.
  static std::vector<int> Read(Spool& spool, size_t max_records, bool acknowledge) {
    std::vector<PendingRecord> records;
    Spool::Position end;
    EXPECT_TRUE(spool.Read(max_records, 1u << 20, &records, &end).ok());
    std::vector<int> numbers;
    for (const PendingRecord& record : records) {
      const int number = std::stoi(record.value.substr(6));
      EXPECT_EQ(record.key, Cat("job-", number % 3));
      EXPECT_EQ(record.note, Cat("note ", number));
      numbers.push_back(number);
    }
    if (acknowledge) {
      EXPECT_TRUE(spool.Acknowledge(end).ok());
    }
    return numbers;
  }
  std::vector<std::string> Segments() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(dir())) {
      if (entry.path().extension() == ".spool") paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  static constexpr int kSkipped = 99;
  // Runs `body` in a child process and returns the exit status. `body` may modify the child
  // process.
  template <typename Body>
  static int InChild(const Body& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Mounts a separate disk for this process, which must have only one thread.
  bool MountDisk(const char* options) const {
    const std::string user = Cat("0 ", geteuid(), " 1");
    const std::string group = Cat("0 ", getegid(), " 1");
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user;
    std::ofstream("/proc/self/gid_map") << group;
    return mount("tmpfs", root_.path().c_str(), "tmpfs", 0, options) == 0;
  }

  TestRoot root_;
  Counters counters_;
};

TEST_F(SpoolTest, ReturnsRecordsInOrder) {
  auto spool = Open();
  EXPECT_TRUE(spool->empty());
  Append(*spool, 0, 5);
  EXPECT_EQ(spool->records(), 5u);
  EXPECT_THAT(Read(*spool, 2, false), ElementsAre(0, 1));
  EXPECT_THAT(Read(*spool, 2, true), ElementsAre(0, 1));
  Append(*spool, 5, 7);
  EXPECT_THAT(Read(*spool, 3, true), ElementsAre(2, 3, 4));
  EXPECT_THAT(Read(*spool, 100, true), ElementsAre(5, 6));
  EXPECT_TRUE(spool->empty());
  EXPECT_EQ(spool->pending_bytes(), 0u);
  EXPECT_EQ(Segments().size(), 1u);  // the segment is kept for the next append
  ASSERT_TRUE(spool->Trim().ok());
  EXPECT_EQ(spool->bytes(), 0u);
  EXPECT_TRUE(Segments().empty());
  Append(*spool, 7, 8);
  EXPECT_THAT(Read(*spool, 100, true), ElementsAre(7));
}

TEST_F(SpoolTest, Restart_ResumesAtAcknowledgedPosition) {
  Append(*Open(), 0, 10);
  {
    auto spool = Open();
    EXPECT_EQ(spool->records(), 10u);
    EXPECT_THAT(Read(*spool, 4, true), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(Read(*spool, 2, false), ElementsAre(4, 5));  // the record is not acknowledged
  }
  auto spool = Open();
  EXPECT_EQ(spool->records(), 6u);
  Append(*spool, 10, 12);
  EXPECT_THAT(Read(*spool, 100, true), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
  spool.reset();
  EXPECT_TRUE(Open()->empty());
}

TEST_F(SpoolTest, SizeLimitDropsOldestSegments) {
  auto spool = Open(80'000);  // segments of 10,000 bytes
  Append(*spool, 0, 60, 1000);
  EXPECT_GE(Segments().size(), 5u);
  EXPECT_EQ(counters_.dropped_spool_full, 0u);
  Append(*spool, 60, 120, 1000);
  const uint64_t dropped = counters_.dropped_spool_full;
  EXPECT_GT(dropped, 30u);
  EXPECT_LE(spool->bytes(), 80'000u + 11'000u);
  EXPECT_EQ(spool->records() + dropped, 120u);
  spool.reset();
  spool = Open(80'000);
  std::vector<int> all;
  while (!spool->empty()) {
    for (int number : Read(*spool, 7, true)) all.push_back(number);
  }
  ASSERT_EQ(all.size(), 120 - dropped);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int>(dropped + i));
}

TEST_F(SpoolTest, AcknowledgingDroppedRecordsHasNoEffect) {
  auto spool = Open(40'000);
  Append(*spool, 0, 3, 1000);
  std::vector<PendingRecord> records;
  Spool::Position end;
  ASSERT_TRUE(spool->Read(2, 1u << 20, &records, &end).ok());
  Append(*spool, 3, 100, 1000);  // drops the records that were just read
  ASSERT_TRUE(spool->Acknowledge(end).ok());
  const uint64_t left = spool->records();
  EXPECT_EQ(left + counters_.dropped_spool_full, 100u);
  EXPECT_EQ(Read(*spool, 1, false), std::vector<int>{static_cast<int>(100 - left)});
}

TEST_F(SpoolTest, TornAndDamagedRecordsAreSkipped) {
  Append(*Open(), 0, 5);
  const std::string path = Segments().at(0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
  {
    auto spool = Open();
    EXPECT_EQ(spool->records(), 4u);
    EXPECT_EQ(counters_.dropped_damaged, 1u);
    Append(*spool, 5, 6);
  }
  {  // damages one byte of the second record
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes(200, '\0');
    file.read(bytes.data(), 200);
    file.clear();
    file.seekp(static_cast<std::streamoff>(bytes.find("value 1")));
    file.put('V');
  }
  auto spool = Open();
  EXPECT_THAT(Read(*spool, 100, true), ElementsAre(0, 2, 3, 5));
  EXPECT_GE(counters_.dropped_damaged, 2u);
  EXPECT_TRUE(spool->empty());
}

TEST_F(SpoolTest, SurvivesRandomDamage) {
  const uint32_t seed = 99;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::filesystem::remove_all(dir());
    Append(*Open(40'000), 0, 20, 300);
    std::vector<std::string> paths = Segments();
    paths.push_back(dir() + "/position");
    for (int i = 0; i < 3; ++i) {
      std::fstream file(paths[random() % paths.size()],
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(random() % 3000));
      file.put(static_cast<char>(random()));
    }
    auto spool = Open(40'000);
    ASSERT_NE(spool, nullptr);
    Append(*spool, 20, 22);
    int last = -1;
    for (int turns = 0; !spool->empty() && turns < 100; ++turns) {
      for (int number : Read(*spool, 3, true)) {
        EXPECT_GT(number, last);
        last = number;
      }
    }
    EXPECT_TRUE(spool->empty());
    EXPECT_EQ(last, 21);
  }
}

TEST_F(SpoolTest, FileOfLaterVersion_IsRejectedAndKept) {
  {
    const auto spool = Open();
    Append(*spool, 0, 5);
  }
  const std::string path = Segments().at(0);
  const auto write_format = [&](char digit) {
    FILE* file = std::fopen(path.c_str(), "r+");
    ASSERT_NE(file, nullptr);
    std::fseek(file, 7, SEEK_SET);
    std::fputc(digit, file);
    std::fclose(file);
  };
  write_format('3');
  const auto later = Spool::Open(dir(), 1u << 20, &counters_);
  ASSERT_FALSE(later.ok());
  EXPECT_THAT(
      std::string(later.status().message()),
      HasSubstr(Cat(path, ": unsupported spool format 3 (this version reads 1 and 2); run the")));
  write_format('2');
  const auto spool = Open();
  EXPECT_THAT(Read(*spool, 10, true), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(SpoolTest, SecondCollectorInSameDirectoryIsRejected) {
  auto first = Open();
  const auto second = Spool::Open(dir(), 1u << 20, &counters_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(Spool::Open(root_.At("no/such/parent"), 1u << 20, &counters_).ok());
}

TEST_F(SpoolTest, FullDisk_SpaceIsReclaimed) {
  const int ended = InChild([&] {
    if (!MountDisk("size=64k")) _exit(kSkipped);
    auto spool = Open(80'000);  // segments of 10,000 bytes
    Status status = OkStatus();
    int written = 0;
    while (status.ok() && written < 100) {
      const PendingRecord record = Record(written, 1000);
      Spool::Position end;
      status = spool->Append({&record, 1}, &end);
      if (status.ok()) ++written;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_GT(Segments().size(), 3u);
    EXPECT_EQ(Read(*spool, 100, true).size(), static_cast<size_t>(written));
    ASSERT_TRUE(spool->Trim().ok());
    EXPECT_TRUE(Segments().empty());
    Append(*spool, 0, 30, 1000);
    EXPECT_EQ(Read(*spool, 25, true).size(), 25u);
    spool.reset();
    EXPECT_EQ(Open(80'000)->records(), 5u);
  });
  if (ended == kSkipped) GTEST_SKIP() << "no permission to mount a disk";
  EXPECT_EQ(ended, 0);
}

TEST_F(SpoolTest, FailedPositionWrite_StillRemovesSegments) {
  const int ended = InChild([&] {
    auto spool = Open(80'000);
    Append(*spool, 0, 40, 1000);
    std::vector<PendingRecord> records;
    Spool::Position end;
    ASSERT_TRUE(spool->Read(35, 1u << 20, &records, &end).ok());
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{0, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Status status = spool->Acknowledge(end);
    limit.rlim_cur = RLIM_INFINITY;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(Segments().size(), 1u);
    EXPECT_EQ(spool->records(), 5u);
    EXPECT_EQ(counters_.spool_records, 5u);
    EXPECT_THAT(Read(*spool, 100, false), ElementsAre(35, 36, 37, 38, 39));
    // After a restart, only records in the current segment are sent again.
    spool.reset();
    spool = Open(80'000);
    EXPECT_LT(spool->records(), 20u);
    const std::vector<int> rest = Read(*spool, 100, true);
    ASSERT_FALSE(rest.empty());
    EXPECT_EQ(rest.back(), 39);
  });
  EXPECT_EQ(ended, 0);
}

// The process is killed between appending and acknowledging. No record may be lost or reordered.
TEST_F(SpoolTest, Kill_KeepsAllRecordsInOrder) {
  for (int acknowledged : {0, 3, 10}) {
    std::filesystem::remove_all(dir());
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto spool = Open();
      Append(*spool, 0, 20);
      if (acknowledged > 0) Read(*spool, static_cast<size_t>(acknowledged), true);
      (void)!write(ready[1], "x", 1);
      while (true) pause();
    }
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    close(ready[1]);
    auto spool = Open();
    const std::vector<int> rest = Read(*spool, 100, true);
    ASSERT_EQ(rest.size(), static_cast<size_t>(20 - acknowledged));
    EXPECT_EQ(rest.front(), acknowledged);
    EXPECT_EQ(rest.back(), 19);
  }
}

}  // namespace
}  // namespace pitwall::collector
