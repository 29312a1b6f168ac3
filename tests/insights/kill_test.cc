// Tests for the history after kills and damage. After kill -9 at random moments during ingestion
// and sealing, all query results must be bit-identical to those of an uninterrupted run. With
// damaged files, queries must return identical results or DataLoss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "services/adapters/embedded_log/embedded_log.h"
#include "tests/insights/history_data.h"

extern char** environ;

namespace pitwall::history {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Answers(const History& history) {
  std::vector<std::string> out;
  for (int i = 0; i < kRequests; ++i) {
    const auto answer = Answer(history, i);
    EXPECT_TRUE(answer.ok()) << "request " << i << ": " << answer.status();
    out.push_back(answer.ok() ? *answer : "");
  }
  return out;
}

class InsightsKillTest : public ::testing::Test {
 protected:
  InsightsKillTest() {
    dir_ = Cat(::testing::TempDir(), "/pitwall-insights-",
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    OpenLog();
    for (const std::string_view topic :
         {kTelemetryTopic, kIssuesTopic, kActionsTopic, kCapturesTopic})
      EXPECT_TRUE(log_->EnsureTopic(topic, {.partitions = 1}).ok());
    auto appender = log_->OpenAppender();
    EXPECT_TRUE(appender.ok());
    EXPECT_TRUE((*appender)->Append(HistoryRecords(11)).ok());
  }
  ~InsightsKillTest() override {
    log_ = nullptr;
    fs::remove_all(dir_);
  }
  void OpenLog() {
    log::EmbeddedLogOptions options;
    options.dir = dir_ + "/log";
    options.background = false;
    auto log = log::OpenEmbeddedLog(options, &clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }
  // Opens the store and waits until the whole log has been read or the sealed data is available.
  std::unique_ptr<HistoryService> Follow(const std::string& store) {
    HistoryOptions options;
    options.dir = store;
    auto keep = HistoryService::Open(&clock_, log_.get(), options);
    EXPECT_TRUE(keep.ok()) << keep.status();
    if (!keep.ok()) return nullptr;
    EXPECT_TRUE((*keep)->Start().ok());
    const auto pause = clock_.NewWakeup();
    for (int i = 0; i < 3000 && !Done(**keep); ++i) pause->Wait(10 * kNanosPerMilli);
    EXPECT_TRUE(Done(**keep)) << (*keep)->Health();
    return *std::move(keep);
  }
  static bool Done(const HistoryService& keep) {
    if (!keep.Ready().ok()) return false;
    for (const char* job : {"job-a", "job-b", "job-c"}) {
      const auto life = keep.history().FindJob(job);
      if (!life.ok() || (*life)->ended_ns == 0) return false;
    }
    return true;
  }
  pid_t StartVictim(const std::string& store) {
    std::string path = PITWALL_INSIGHTS_VICTIM;
    std::string log_dir = dir_ + "/log";
    std::string store_dir = store;
    char* arguments[] = {path.data(), log_dir.data(), store_dir.data(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, path.c_str(), nullptr, nullptr, arguments, environ), 0);
    return pid;
  }
  // Returns the exit status, or -1 if the process was killed.
  static int Wait(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  clock::SystemClock clock_;
  std::string dir_;
  std::unique_ptr<log::EmbeddedLog> log_;
};

TEST_F(InsightsKillTest, ResultsAreBitIdenticalAfterTwentyKills) {
  std::vector<std::string> unbroken;
  {
    const auto keep = Follow(dir_ + "/unbroken");
    ASSERT_NE(keep, nullptr);
    unbroken = Answers(keep->history());
  }
  size_t bytes = 0;
  for (const std::string& answer : unbroken) bytes += answer.size();
  EXPECT_GT(bytes, 1'000'000U);  // The requests must return data.
  log_ = nullptr;                // The victim opens the log.
  const int64_t began = clock_.MonotonicNs();
  ASSERT_EQ(Wait(StartVictim(dir_ + "/timed")), 0);
  const int64_t took = clock_.MonotonicNs() - began;
  std::mt19937_64 random(3);
  const std::string store = dir_ + "/killed";
  const auto pause = clock_.NewWakeup();
  int killed = 0;
  bool finished = true;
  for (int i = 0; killed < 20 && i < 400; ++i) {
    // A process that has finished cannot be interrupted, so the store is rebuilt from the
    // beginning.
    if (finished) fs::remove_all(store);
    const pid_t victim = StartVictim(store);
    pause->Wait(static_cast<int64_t>(random() % static_cast<uint64_t>(took * (i % 5 + 1) / 5)));
    ::kill(victim, SIGKILL);
    finished = Wait(victim) != -1;
    killed += finished ? 0 : 1;
  }
  ASSERT_EQ(killed, 20);
  OpenLog();
  for (const char* when : {"with rows in memory", "sealed"}) {
    SCOPED_TRACE(when);
    const auto keep = Follow(store);
    ASSERT_NE(keep, nullptr);
    const auto answers = Answers(keep->history());
    for (int i = 0; i < kRequests; ++i)
      EXPECT_EQ(answers[i] == unbroken[i], true) << "request " << i;
  }
  log_ = nullptr;
  OpenLog();
  const auto sealed_early = Follow(dir_ + "/timed");
  ASSERT_NE(sealed_early, nullptr);
  const auto answers = Answers(sealed_early->history());
  for (int i = 0; i < kRequests; ++i) EXPECT_EQ(answers[i] == unbroken[i], true) << "request " << i;
}

// Damages the files of a finished store. The log is not reread.
TEST_F(InsightsKillTest, DamagedFile_ReturnsEqualResultsOrDataLoss) {
  const std::string whole = dir_ + "/whole";
  std::vector<std::string> right;
  {
    const auto keep = Follow(whole);
    ASSERT_NE(keep, nullptr);
    right = Answers(keep->history());
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(whole)) {
    if (entry.path().extension() == ".seg") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 6U);
  files.push_back(whole + "/catalogue.db");
  std::mt19937_64 random(5);
  std::map<std::string, int> outcomes;
  const auto try_with = [&](const std::string& file, const std::string& content, bool there) {
    const std::string kept = Cat(file, ".kept");
    fs::rename(file, kept);
    if (there) std::ofstream(file, std::ios::binary) << content;
    HistoryOptions options;
    options.dir = whole;
    const bool catalogue = EndsWith(file, ".db");
    // Open modifies the directory, so each case works on a copy.
    const std::string copy = dir_ + "/copy";
    fs::remove_all(copy);
    fs::copy(whole, copy, fs::copy_options::recursive);
    options.dir = copy;
    auto keep = HistoryService::Open(&clock_, log_.get(), options);
    if (!keep.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(keep.status())) << keep.status();
      EXPECT_THAT(std::string(ToStd(keep.status().message())), ::testing::HasSubstr(copy));
      ++outcomes["refused"];
    } else if (!there && catalogue) {
      ++outcomes["rebuilt"];  // The rebuilt catalog lacks the events, but they are in the log.
    } else {
      for (int i = 0; i < kRequests; i += 3) {
        const auto answer = Answer((*keep)->history(), i);
        if (answer.ok()) {
          EXPECT_EQ(*answer == right[static_cast<size_t>(i)], true) << file << " request " << i;
          ++outcomes["equal"];
        } else {
          EXPECT_TRUE(absl::IsDataLoss(answer.status())) << answer.status();
          EXPECT_THAT(std::string(ToStd(answer.status().message())), ::testing::HasSubstr(copy));
          ++outcomes["reported"];
        }
      }
    }
    fs::remove(file);
    fs::rename(kept, file);
  };
  for (const size_t which : {size_t{0}, files.size() / 2, files.size() - 1}) {
    const std::string file = files[which];
    std::ifstream in(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    for (int i = 0; i < 64; ++i) {
      std::string damaged = content;
      const size_t at = random() % damaged.size();
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
      try_with(file, damaged, true);
    }
    try_with(file, content.substr(0, content.size() / 2), true);
    try_with(file, std::string(content.size(), '\0'), true);
    try_with(file, "", false);
  }
  for (const char* outcome : {"refused", "equal", "reported", "rebuilt"})
    EXPECT_GT(outcomes[outcome], 0) << outcome;
}

// Data lost with the write-ahead file is reread from the log.
TEST_F(InsightsKillTest, DamagedWriteAheadFile_DoesNotChangeResults) {
  std::vector<std::string> right;
  {
    const auto keep = Follow(dir_ + "/unbroken");
    ASSERT_NE(keep, nullptr);
    right = Answers(keep->history());
  }
  log_ = nullptr;
  const std::string store = dir_ + "/killed";
  const auto pause = clock_.NewWakeup();
  const std::string wal = store + "/catalogue.db-wal";
  const auto wal_bytes = [&] {
    std::error_code missing;
    const auto bytes = fs::file_size(wal, missing);
    return missing ? uintmax_t{0} : bytes;
  };
  // On a busy machine, the victim may finish before it is killed, so the test retries.
  for (int tries = 0; tries < 20; ++tries) {
    fs::remove_all(store);
    const pid_t victim = StartVictim(store);
    for (int i = 0; i < 3000 && wal_bytes() < 200'000; ++i) pause->Wait(kNanosPerMilli);
    ::kill(victim, SIGKILL);
    if (Wait(victim) == -1 && wal_bytes() > 0) break;
  }
  ASSERT_GT(wal_bytes(), 0U);
  OpenLog();
  std::mt19937_64 random(9);
  for (int i = 0; i < 10; ++i) {
    const std::string copy = dir_ + "/copy";
    fs::remove_all(copy);
    fs::copy(store, copy, fs::copy_options::recursive);
    const auto size = fs::file_size(wal);
    if (i == 0) {
      fs::resize_file(copy + "/catalogue.db-wal", size / 2);
    } else if (i == 1) {
      fs::remove(copy + "/catalogue.db-wal");
    } else {
      std::fstream file(copy + "/catalogue.db-wal",
                        std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(random() % size);
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ (1 << (random() % 8))));
    }
    HistoryOptions options;
    options.dir = copy;
    auto opened = HistoryService::Open(&clock_, log_.get(), options);
    if (!opened.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
      continue;
    }
    *opened = nullptr;
    const auto keep = Follow(copy);
    ASSERT_NE(keep, nullptr);
    for (int r = 0; r < kRequests; ++r) {
      const auto answer = Answer(keep->history(), r);
      if (answer.ok()) {
        EXPECT_EQ(*answer == right[static_cast<size_t>(r)], true) << i << " request " << r;
      } else {
        EXPECT_TRUE(absl::IsDataLoss(answer.status())) << answer.status();
      }
    }
  }
}

}  // namespace
}  // namespace pitwall::history
