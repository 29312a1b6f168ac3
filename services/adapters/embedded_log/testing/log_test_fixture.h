// Fixture for embedded log tests: a temporary directory, a fake clock, and read and write helpers.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/files/file.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::log {

class EmbeddedLogTest : public ::testing::Test {
 protected:
  // Uses an in-memory directory if possible, because the tests open logs thousands of times and
  // each flush to disk takes milliseconds.
  EmbeddedLogTest()
      : root_(Cat(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir(),
                  "/pitwall_log_XXXXXX")) {
    EXPECT_NE(::mkdtemp(root_.data()), nullptr) << root_;
    // The tests cause thousands of errors and check the reported messages, so logging to stderr is
    // disabled.
    SetLogLevel(static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1));
    options_.dir = Dir("data");
    options_.background = false;
    options_.fsync = FsyncPolicy::kNever;
    options_.faults = std::make_shared<files::DiskFaults>();
  }
  ~EmbeddedLogTest() override {
    log_.reset();
    EXPECT_TRUE(files::RemoveTree(root_).ok());
  }

  std::string Dir(std::string_view name) const { return Cat(root_, "/", name); }

  Status Open() {
    log_.reset();
    ASSIGN_OR_RETURN(log_, OpenEmbeddedLog(options_, &clock_));
    return OkStatus();
  }
  void MustOpen() {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened;
  }
  void Topic(std::string_view name, int32_t partitions = 1, bool compacted = false,
             int64_t retention_ms = -1) {
    TopicConfig config;
    config.partitions = partitions;
    config.compacted = compacted;
    config.retention_ms = retention_ms;
    const Status made = log_->EnsureTopic(name, config);
    ASSERT_TRUE(made.ok()) << made;
  }

  static OutgoingRecord Out(std::string_view topic, std::string_view value,
                            std::string_view key = "k", int32_t partition = 0) {
    OutgoingRecord record;
    record.topic = topic;
    record.partition = partition;
    record.key = key;
    record.value = value;
    return record;
  }
  Status TryAppend(std::vector<OutgoingRecord> records) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log_->OpenAppender());
    return appender->Append(std::move(records));
  }
  void Append(std::vector<OutgoingRecord> records) {
    const Status appended = TryAppend(std::move(records));
    ASSERT_TRUE(appended.ok()) << appended;
  }

  // Result of reading all available records. Losses are collected and skipped.
  struct Readout {
    std::vector<Record> records;
    std::vector<Status> losses;
    std::vector<std::string> values() const {
      std::vector<std::string> out;
      for (const Record& record : records) out.push_back(record.value);
      return out;
    }
  };
  static Readout ReadAll(Log* log, const TopicPartition& at, int64_t from = kFromStart) {
    Readout readout;
    auto reader = log->OpenReader(at, from);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return readout;
    for (;;) {
      const size_t before = readout.records.size();
      const int64_t position = (*reader)->position();
      const Status polled =
          (*reader)->Poll(100, size_t{1} << 20, Duration::Zero(), &readout.records);
      if (!polled.ok()) {
        EXPECT_EQ(polled.code(), absl::StatusCode::kDataLoss) << polled;
        EXPECT_EQ(readout.records.size(), before);
        EXPECT_GT((*reader)->position(), position) << "a loss must advance the reader: " << polled;
        readout.losses.push_back(polled);
        continue;
      }
      if (readout.records.size() == before) break;
    }
    EXPECT_EQ((*reader)->position(), *(*reader)->EndOffset());
    int64_t last = -1;
    for (const Record& record : readout.records) {
      EXPECT_GT(record.offset, last);
      last = record.offset;
    }
    return readout;
  }
  Readout ReadAll(std::string_view topic, int32_t partition = 0, int64_t from = kFromStart) {
    return ReadAll(log_.get(), {std::string(topic), partition}, from);
  }
  std::vector<std::string> Values(std::string_view topic, int32_t partition = 0,
                                  int64_t from = kFromStart) {
    const Readout readout = ReadAll(topic, partition, from);
    for (const Status& loss : readout.losses) ADD_FAILURE() << loss;
    return readout.values();
  }

  // Copies the directory in the state that a kill -9 would leave behind: all writes, whether
  // flushed or not.
  void CopyDir(const std::string& from, const std::string& to) {
    std::error_code error;
    std::filesystem::remove_all(to, error);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
    ASSERT_FALSE(error) << error.message();
  }
  static std::string Slurp(const std::string& path) {
    auto content = files::ReadWhole(path, size_t{1} << 30);
    EXPECT_TRUE(content.ok()) << content.status();
    return content.ok() ? *content : std::string();
  }
  static void Spill(const std::string& path, std::string_view content) {
    EXPECT_TRUE(files::Remove(path).ok());
    auto file = files::File::Open(path, files::File::Mode::kCreate);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->WriteAt(0, content).ok());
  }
  // Returns the paths of all files in a directory that have the given suffix.
  static std::vector<std::string> FilesIn(const std::string& dir, std::string_view suffix) {
    std::vector<std::string> paths;
    const auto names = files::ListDirectory(dir);
    if (!names.ok()) return paths;
    for (const std::string& name : *names) {
      if (EndsWith(name, suffix)) paths.push_back(Cat(dir, "/", name));
    }
    return paths;
  }
  std::vector<std::string> Segments(std::string_view topic, int32_t partition = 0) const {
    return FilesIn(Cat(options_.dir, "/topics/", topic, "/", partition), ".seg");
  }
  std::string Journal() const {
    const auto files = FilesIn(Cat(options_.dir, "/commits"), ".journal");
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? "" : files.back();
  }

  std::string root_;
  fakes::FakeClock clock_;
  EmbeddedLogOptions options_;
  std::unique_ptr<EmbeddedLog> log_;
};

}  // namespace pitwall::log
