// Tests for behavior that the contract (tests/contract) does not specify: limits, directories,
// flushes, checkpoints, retention, and read-only logs.
#include "services/adapters/embedded_log/embedded_log.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "services/adapters/embedded_log/repair/log_repair.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"
#include "services/base/time.h"

namespace pitwall::log {
namespace {

using EmbeddedLogBasics = EmbeddedLogTest;

TEST_F(EmbeddedLogBasics, InvalidOptionsAreRejected) {
  const EmbeddedLogOptions good = options_;
  const auto refused = [&](const std::function<void(EmbeddedLogOptions*)>& change) {
    options_ = good;
    change(&options_);
    EXPECT_EQ(Open().code(), absl::StatusCode::kInvalidArgument);
  };
  refused([](EmbeddedLogOptions* o) { o->dir = ""; });
  refused([](EmbeddedLogOptions* o) { o->max_record_bytes = (16 << 20) + 1; });
  refused([](EmbeddedLogOptions* o) { o->segment_bytes = 0; });
  refused([](EmbeddedLogOptions* o) { o->fsync_interval_ms = 0; });
  refused([](EmbeddedLogOptions* o) { o->compaction_dirty_share = 0; });
}

TEST_F(EmbeddedLogBasics, InvalidTopicNamesAndConfigsAreRejected) {
  MustOpen();
  for (const char* bad : {"", ".", "..", "a/b", "a b", "\xc3\xa4"}) {
    EXPECT_EQ(log_->EnsureTopic(bad, {}).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(log_->EnsureTopic(std::string(250, 'x'), {}).ok());
  EXPECT_TRUE(log_->EnsureTopic(std::string(249, 'x'), {}).ok());
  TopicConfig config;
  config.partitions = 0;
  EXPECT_FALSE(log_->EnsureTopic("t", config).ok());
  config.partitions = 5000;
  EXPECT_FALSE(log_->EnsureTopic("t", config).ok());
  config = {};
  config.retention_ms = -5;
  EXPECT_FALSE(log_->EnsureTopic("t", config).ok());
}

TEST_F(EmbeddedLogBasics, OnlyRetentionOfTopicMayChange) {
  MustOpen();
  Topic("t", 2, false, 1000);
  Topic("t", 2, false, 2000);
  EXPECT_EQ(log_->Config("t")->retention_ms, 2000);
  TopicConfig compacted;
  compacted.partitions = 2;
  compacted.compacted = true;
  EXPECT_EQ(log_->EnsureTopic("t", compacted).code(), absl::StatusCode::kFailedPrecondition);
  MustOpen();
  EXPECT_EQ(log_->Config("t")->retention_ms, 2000);
  EXPECT_EQ(log_->Topics(), (std::vector<std::string>{"t"}));
}

TEST_F(EmbeddedLogBasics, DamagedTopicFileIsReportedWithLine) {
  MustOpen();
  Topic("t", 3);
  log_.reset();
  const std::string path = Cat(options_.dir, "/topics/t/topic.conf");
  std::string text = Slurp(path);
  text.replace(text.find("partitions: 3"), 13, "partitions: 7");
  Spill(path, text);
  // The journal contains the same configuration, so nothing is lost, but the damage is reported.
  MustOpen();
  EXPECT_EQ(*log_->Partitions("t"), 3);
  ASSERT_EQ(log_->Damage().size(), 1U);
  EXPECT_TRUE(log_->Damage()[0].healed);
  EXPECT_NE(log_->Damage()[0].message.find("topic.conf:5: checksum"), std::string::npos);
  MustOpen();
  EXPECT_TRUE(log_->Damage().empty());
  log_.reset();
  // An operator may edit the file after removing the checksum line.
  Spill(path, text.substr(0, text.find("crc32c")));
  MustOpen();
  EXPECT_EQ(*log_->Partitions("t"), 7);
}

TEST_F(EmbeddedLogBasics, RecordsAboveSizeLimitAreRejected) {
  MustOpen();
  Topic("t");
  OutgoingRecord largest = Out("t", std::string((16 << 20) - 3, 'v'), "kk");
  largest.headers = {{"h", ""}};
  Append({Out("t", "small"), largest, largest, Out("t", "after")});
  largest.value.push_back('v');
  const Status refused = TryAppend({Out("t", "not either"), largest});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  OutgoingRecord many = Out("t", "");
  many.headers.resize(1025);
  EXPECT_EQ(TryAppend({many}).code(), absl::StatusCode::kInvalidArgument);
  const Readout got = ReadAll("t");
  ASSERT_EQ(got.records.size(), 4U);
  EXPECT_EQ(got.records[1].value.size(), size_t{(16 << 20) - 3});
  EXPECT_EQ(got.records[3].value, "after");
}

TEST_F(EmbeddedLogBasics, DirectoryHasSingleWriter) {
  MustOpen();
  const auto second = OpenEmbeddedLog(options_, &clock_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find("in use"), absl::string_view::npos) << second.status();
  log_.reset();
  EXPECT_TRUE(OpenEmbeddedLog(options_, &clock_).ok());
}

TEST_F(EmbeddedLogBasics, ReadOnlyLogSeesStateCommittedAtOpen) {
  EmbeddedLogOptions reading = options_;
  reading.read_only = true;
  EXPECT_EQ(OpenEmbeddedLog(reading, &clock_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(files::Exists(options_.dir)) << "a read-only log must not create the directory";
  MustOpen();
  Topic("t");
  Append({Out("t", "a")});
  ASSERT_TRUE(log_->StorePosition("g", {"t", 0}, {1, "m"}).ok());
  // The reader opens the log while the writer is active.
  const auto reader = OpenEmbeddedLog(reading, &clock_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  Append({Out("t", "b")});
  EXPECT_EQ(ReadAll(reader->get(), {"t", 0}).values(), (std::vector<std::string>{"a"}));
  EXPECT_EQ((*(*reader)->Committed("g", {"t", 0}))->metadata, "m");
  EXPECT_EQ((*reader)->Topics(), (std::vector<std::string>{"t"}));
  for (const Status& refused :
       {(*(*reader)->OpenAppender())->Append({Out("t", "c")}), (*reader)->EnsureTopic("u", {}),
        (*reader)->StorePosition("g", {"t", 0}, {1, ""}), (*reader)->ApplyRetention(),
        (*reader)->Sync(), (*reader)->OpenCommitter("x").status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  }
  EXPECT_TRUE((*reader)->EnsureTopic("t", {}).ok()) << "the topic exists with this configuration";
  EXPECT_EQ(Values("t"), (std::vector<std::string>{"a", "b"}));
}

TEST_F(EmbeddedLogBasics, AppendTimesNeverDecrease) {
  MustOpen();
  Topic("t");
  Append({Out("t", "a")});
  const int64_t wall = clock_.WallNs();
  clock_.SetWall(wall - 5 * kNanosPerSecond);
  Append({Out("t", "b")});
  MustOpen();
  Append({Out("t", "c")});
  clock_.SetWall(wall + 1);
  Append({Out("t", "d")});
  std::vector<int64_t> times;
  for (const Record& record : ReadAll("t").records) times.push_back(record.append_time.ns());
  EXPECT_EQ(times, (std::vector<int64_t>{wall, wall, wall, wall + 1}));
}

TEST_F(EmbeddedLogBasics, PollWaitsForTimeoutOrCommit) {
  MustOpen();
  Topic("t");
  auto reader = log_->OpenReader({"t", 0}, kFromStart);
  std::vector<Record> got;
  std::thread poller([&] { EXPECT_TRUE((*reader)->Poll(1, 1, Duration::Nanos(5), &got).ok()); });
  clock_.AwaitWaiters(1);
  clock_.Advance(5);
  poller.join();
  EXPECT_TRUE(got.empty());
  poller = std::thread([&] { EXPECT_TRUE((*reader)->Poll(1, 1, Duration::Nanos(5), &got).ok()); });
  clock_.AwaitWaiters(1);
  Append({Out("t", "x")});  // time does not advance, so only the commit can end the wait
  poller.join();
  EXPECT_EQ(got.size(), 1U);
}

TEST_F(EmbeddedLogBasics, ReadersAndAppendersMayOutliveLog) {
  MustOpen();
  Topic("t");
  Append({Out("t", "a")});
  auto reader = log_->OpenReader({"t", 0}, kFromStart);
  auto appender = log_->OpenAppender();
  auto committer = log_->OpenCommitter("c");
  log_.reset();
  EXPECT_EQ((*appender)->Append({Out("t", "b")}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*committer)->Apply({}).code(), absl::StatusCode::kFailedPrecondition);
  std::vector<Record> got;
  EXPECT_TRUE((*reader)->Poll(10, 100, Duration::Zero(), &got).ok());
  EXPECT_EQ(got.size(), 1U);
  MustOpen();  // the lock was still released
  EXPECT_EQ(Values("t"), (std::vector<std::string>{"a"}));
}

TEST_F(EmbeddedLogBasics, OffsetsOutsideLog_ReturnErrors) {
  MustOpen();
  Topic("t");
  Append({Out("t", "a"), Out("t", "b")});
  EXPECT_EQ(log_->OpenReader({"t", 0}, 3).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(log_->OpenReader({"t", 0}, -3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(log_->OpenReader({"t", 0}, 2).ok());
  EXPECT_EQ((*log_->OpenReader({"t", 0}, 0))->Poll(0, 1, Duration::Zero(), nullptr).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(EmbeddedLogBasics, SegmentsRollBySizeAndByAge) {
  options_.segment_bytes = 1000;
  options_.segment_ms = 60'000;
  options_.compress = false;
  MustOpen();
  Topic("t");
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(Cat(i, std::string(400, 'x')));
    Append({Out("t", expected.back())});
  }
  EXPECT_EQ(Segments("t").size(), 7U);
  EXPECT_EQ(log_->Stats().segments, 7);
  clock_.Advance(60 * kNanosPerSecond);
  expected.push_back("late");
  Append({Out("t", "late")});
  EXPECT_EQ(Segments("t").size(), 8U);
  EXPECT_EQ(Values("t"), expected);
  EXPECT_EQ(Values("t", 0, 13), std::vector<std::string>(expected.begin() + 13, expected.end()));
  MustOpen();
  EXPECT_EQ(Values("t"), expected);
  clock_.Advance(30 * kNanosPerSecond);
  Append({Out("t", "same segment")});
  EXPECT_EQ(Segments("t").size(), 8U);
}

TEST_F(EmbeddedLogBasics, RetentionDeletesWholeExpiredSegments) {
  options_.segment_bytes = 1;
  MustOpen();
  Topic("t", 2, false, 10'000);
  Topic("kept");
  for (int i = 0; i < 5; ++i) {
    Append({Out("t", Cat(i)), Out("kept", Cat(i))});
    clock_.Advance(4 * kNanosPerSecond);
  }
  auto reader = log_->OpenReader({"t", 0}, kFromStart);
  // The current time is 20 s, so records appended before 10 s are deleted.
  ASSERT_TRUE(log_->ApplyRetention().ok());
  EXPECT_EQ(Values("t"), (std::vector<std::string>{"3", "4"}));
  EXPECT_EQ(Values("kept").size(), 5U);
  EXPECT_EQ(Segments("t").size(), 2U);
  EXPECT_EQ(log_->Stats().segments_deleted, 3);
  // An open reader receives an error for the missed records and then continues.
  std::vector<Record> got;
  const Status lost = (*reader)->Poll(10, 100, Duration::Zero(), &got);
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(lost.message().find("t/0: records at offsets 0 to 2 are lost"), absl::string_view::npos)
      << lost;
  ASSERT_TRUE((*reader)->Poll(10, 100, Duration::Zero(), &got).ok());
  EXPECT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].offset, 3);
  // Retention also works after a restart, when append times must be read from the files.
  MustOpen();
  clock_.Advance(3 * kNanosPerSecond);
  ASSERT_TRUE(log_->ApplyRetention().ok());
  EXPECT_EQ(Values("t"), (std::vector<std::string>{"4"}));
  // An idle topic loses its last records too, but its offsets continue.
  clock_.Advance(60 * kNanosPerSecond);
  ASSERT_TRUE(log_->ApplyRetention().ok());
  EXPECT_EQ(Segments("t").size(), 0U);
  EXPECT_EQ(Values("t"), std::vector<std::string>{});
  MustOpen();
  Append({Out("t", "new")});
  const Readout readout = ReadAll("t");
  ASSERT_EQ(readout.records.size(), 1U);
  EXPECT_EQ(readout.records[0].offset, 5);
  EXPECT_TRUE(log_->Damage().empty());
}

TEST_F(EmbeddedLogBasics, RetentionRunsAtStartAndInIdleLog) {
  options_.segment_bytes = 1;
  MustOpen();
  Topic("t", 1, false, 10'000);
  for (int i = 0; i < 3; ++i) Append({Out("t", Cat(i))});
  clock_.Advance(11 * kNanosPerSecond);
  options_.background = true;
  MustOpen();
  clock_.AwaitWaiters(1);  // the maintenance thread has finished its startup work
  EXPECT_EQ(Segments("t").size(), 0U);
  Append({Out("t", "later")});
  clock_.AwaitWaiters(1);
  EXPECT_EQ(Segments("t").size(), 1U);
  clock_.Advance(61 * kNanosPerSecond);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(Segments("t").size(), 0U);
}

TEST_F(EmbeddedLogBasics, JournalSizeStaysBounded) {
  options_.checkpoint_bytes = 2000;
  MustOpen();
  Topic("t", 3);
  for (int i = 0; i < 2000; ++i) {
    Append({Out("t", Cat(i), "k", i % 3)});
    if (i % 10 == 0) {
      ASSERT_TRUE(log_->StorePosition(Cat("g", i % 7), {"t", 0}, {i / 3, Cat(i)}).ok());
    }
    ASSERT_LT(log_->Stats().journal_bytes, 8000);
  }
  EXPECT_GT(log_->Stats().checkpoints, 10);
  EXPECT_EQ(FilesIn(Cat(options_.dir, "/commits"), "").size(), 2U)
      << "expected only the journal and the mark";
  MustOpen();
  EXPECT_EQ(Values("t", 1).size(), 667U);
  EXPECT_EQ((*log_->Committed("g5", {"t", 0}))->metadata, "1930");
  EXPECT_TRUE(log_->Damage().empty());
}

TEST_F(EmbeddedLogBasics, FlushesFollowFsyncPolicy) {
  options_.fsync = FsyncPolicy::kNever;
  MustOpen();
  Topic("t");
  const int64_t before = log_->Stats().flushes;
  for (int i = 0; i < 10; ++i) Append({Out("t", "x")});
  EXPECT_EQ(log_->Stats().flushes, before);
  ASSERT_TRUE(log_->Sync().ok());
  EXPECT_GT(log_->Stats().flushes, before);
  const int64_t journal = log_->Stats().journal_bytes;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(log_->Sync().ok());
  EXPECT_EQ(log_->Stats().journal_bytes, journal)
      << "flushing without changes must not grow the journal";

  options_.fsync = FsyncPolicy::kAlways;
  MustOpen();
  const int64_t always = log_->Stats().flushes;
  for (int i = 0; i < 10; ++i) Append({Out("t", "x")});
  EXPECT_EQ(log_->Stats().flushes - always, 20)
      << "each commit flushes the segment and the journal";

  options_.fsync = FsyncPolicy::kInterval;
  options_.background = true;
  MustOpen();
  const int64_t interval = log_->Stats().flushes;
  clock_.AwaitWaiters(2);  // flush thread and maintenance thread
  for (int i = 0; i < 10; ++i) Append({Out("t", "x")});
  const int64_t due_ns = clock_.MonotonicNs() + options_.fsync_interval_ms * kNanosPerMilli;
  while (clock_.NextDeadline() != due_ns)
    std::this_thread::yield();  // the flush thread waits for its interval
  EXPECT_EQ(log_->Stats().flushes, interval);
  clock_.Advance(options_.fsync_interval_ms * kNanosPerMilli);
  while (log_->Stats().flushes == interval) std::this_thread::yield();
  clock_.AwaitWaiters(2);
  EXPECT_LE(log_->Stats().flushes - interval, 2) << "ten commits must share a flush";
}

TEST_F(EmbeddedLogBasics, WaitingCommitsShareFlush) {
  options_.fsync = FsyncPolicy::kAlways;
  MustOpen();
  Topic("t");
  constexpr int kThreads = 8;
  constexpr int kEach = 25;
  auto appender = log_->OpenAppender();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE((*appender)->Append({Out("t", "x")}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log_->Stats().commits, kThreads * kEach);
  EXPECT_LE(log_->Stats().flushes, 2 * kThreads * kEach + 10);
  EXPECT_EQ(Values("t").size(), size_t{kThreads * kEach});
}

TEST_F(EmbeddedLogBasics, MissingTopicDirectoryIsRejected) {
  MustOpen();
  Topic("empty");
  Topic("old");
  Topic("t");
  Append({Out("old", "x"), Out("t", "y")});
  log_.reset();
  ASSERT_TRUE(files::RemoveTree(Cat(options_.dir, "/topics/old")).ok());
  ASSERT_TRUE(files::RemoveTree(Cat(options_.dir, "/topics/empty")).ok());
  const Status opened = Open();
  EXPECT_EQ(opened.code(), absl::StatusCode::kDataLoss) << opened;
  EXPECT_NE(opened.message().find("pitwall log repair"), absl::string_view::npos) << opened;
  ASSERT_TRUE(RepairLog(options_.dir, false, &clock_).ok());
  MustOpen();
  EXPECT_EQ(log_->Topics(), (std::vector<std::string>{"empty", "old", "t"}));
  EXPECT_EQ(ReadAll("old").losses.size(), 1U)
      << "the reader must receive an error for the lost records";
  Append({Out("old", "new")});
  EXPECT_EQ(ReadAll("old").records[0].offset, 1);
  EXPECT_EQ(Values("t"), (std::vector<std::string>{"y"}));
}

TEST_F(EmbeddedLogBasics, ReadersFollowWriterAcrossSegments) {
  options_.segment_bytes = 3000;
  options_.background = true;
  MustOpen();
  Topic("t", 2);
  constexpr int kRecords = 3000;
  std::thread writer([&] {
    auto appender = log_->OpenAppender();
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_TRUE((*appender)->Append({Out("t", Cat(i)), Out("t", Cat(i), "k", 1)}).ok());
    }
  });
  std::vector<std::thread> readers;
  for (int32_t p = 0; p < 2; ++p) {
    readers.emplace_back([&, p] {
      auto reader = log_->OpenReader({"t", p}, kFromStart);
      std::vector<Record> got;
      while (got.size() < kRecords) {
        const Status polled = (*reader)->Poll(50, 1000, Duration::Nanos(-1), &got);
        ASSERT_TRUE(polled.ok()) << polled;
      }
      for (int i = 0; i < kRecords; ++i) ASSERT_EQ(got[static_cast<size_t>(i)].value, Cat(i));
    });
  }
  // Commits become visible atomically. If the first partition has n records, the second partition
  // has at least n.
  auto first = log_->OpenReader({"t", 0}, kFromStart);
  auto second = log_->OpenReader({"t", 1}, kFromStart);
  while (*(*first)->EndOffset() < kRecords) {
    const int64_t seen = *(*first)->EndOffset();
    ASSERT_GE(*(*second)->EndOffset(), seen);
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace pitwall::log
