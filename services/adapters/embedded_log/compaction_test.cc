#include "services/adapters/embedded_log/compaction.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"
#include "services/base/time.h"

namespace pitwall::log {
namespace {

class CompactionTest : public EmbeddedLogTest {
 protected:
  CompactionTest() {
    options_.segment_bytes = 1500;
    options_.compress = false;
    options_.tombstone_retention_ms = 1000;
  }
  struct Written {
    int64_t offset;
    std::string key;
    std::string value;
    bool tombstone;
  };
  // Opens a new log and appends records with 20 keys, one key after the other.
  std::vector<Written> WriteTenRecordsPerKey() {
    MustOpen();
    Topic("t", 1, true);
    std::vector<Written> all;
    for (int i = 0; i < 200; ++i) {
      all.push_back({i, Cat("k", i % 20), Cat(i, std::string(60, 'x')), false});
      Append({Out("t", all.back().value, all.back().key)});
    }
    return all;
  }
  // Checks that the newest record for each key is readable, in offset order. Older records that
  // compaction has not reached yet may also appear, but must be unchanged.
  void ExpectNewest(const std::vector<Written>& all, bool tombstones_gone) {
    std::map<std::string, int64_t> newest;
    for (const Written& written : all) newest[written.key] = written.offset;
    const Readout readout = ReadAll("t");
    EXPECT_TRUE(readout.losses.empty());
    std::map<std::string, int64_t> seen;
    for (const Record& record : readout.records) {
      const Written& written = all[static_cast<size_t>(record.offset)];
      ASSERT_EQ(record.key, written.key);
      ASSERT_EQ(record.value, written.value);
      ASSERT_EQ(record.tombstone, written.tombstone);
      seen[record.key] = record.offset;
    }
    for (const auto& [key, offset] : newest) {
      const bool may_be_gone = tombstones_gone && all[static_cast<size_t>(offset)].tombstone;
      if (seen.count(key) == 0 && may_be_gone) continue;
      ASSERT_EQ(seen[key], offset) << key;
    }
  }
};

TEST_F(CompactionTest, KeepsNewestRecordOfEachKey) {
  MustOpen();
  Topic("t", 1, true);
  std::vector<Written> all;
  for (int i = 0; i < 200; ++i) {
    OutgoingRecord record = Out("t", Cat("v", i, std::string(40, 'x')), Cat("key", i % 10));
    record.headers = {{"i", Cat(i)}};
    all.push_back({i, record.key, record.value, false});
    Append({record});
  }
  const size_t before = Segments("t").size();
  ASSERT_GT(before, 10U);
  ASSERT_TRUE(log_->Maintain().ok());
  EXPECT_LT(Segments("t").size(), 5U);
  EXPECT_EQ(log_->Stats().compactions, 1);
  ExpectNewest(all, false);
  EXPECT_LT(ReadAll("t").records.size(), 40U);
  EXPECT_EQ(ReadAll("t").records.back().headers[0].second, "199");
  // Readers can still seek to any old offset.
  for (int64_t from = 0; from <= 200; from += 7) {
    const Readout readout = ReadAll("t", 0, from);
    EXPECT_TRUE(readout.losses.empty());
    for (const Record& record : readout.records) EXPECT_GE(record.offset, from);
  }
  MustOpen();
  ExpectNewest(all, false);
  ASSERT_TRUE(log_->Maintain().ok());
  EXPECT_EQ(log_->Stats().compactions, 0) << "a second compaction has nothing to do";
}

TEST_F(CompactionTest, DropsExpiredTombstones) {
  MustOpen();
  Topic("t", 1, true);
  const auto fill = [&](int count) {
    for (int i = 0; i < count; ++i) Append({Out("t", std::string(100, 'f'), "filler")});
  };
  Append({Out("t", "value", "gone")});
  fill(20);
  OutgoingRecord tombstone = Out("t", "", "gone");
  tombstone.tombstone = true;
  Append({tombstone});
  fill(20);
  const auto count = [&] {
    int64_t found = 0;
    for (const Record& record : ReadAll("t").records) found += record.key == "gone" ? 1 : 0;
    return found;
  };
  ASSERT_TRUE(log_->Maintain().ok());
  EXPECT_EQ(count(), 1) << "the value is deleted, but its tombstone remains for late readers";
  clock_.Advance(5 * kNanosPerSecond);
  fill(60);
  ASSERT_TRUE(log_->Maintain().ok());
  EXPECT_EQ(count(), 0);
}

// Regression test for issue 10, A2. A job's two snapshots, written in two commits, stay in two
// batches, so one flipped bit cannot damage both.
TEST_F(CompactionTest, RecordsOfTwoCommitsNeverShareBatch) {
  const std::string older(200, 'a');
  const std::string newer(200, 'b');
  MustOpen();
  Topic("t", 1, true);
  Append({Out("t", older, "0/job/0/0")});
  Append({Out("t", newer, "0/job/1/0")});
  for (int i = 0; i < 60; ++i) Append({Out("t", std::string(100, 'f'), "filler")});
  ASSERT_TRUE(log_->Maintain().ok());
  EXPECT_EQ(log_->Stats().compactions, 1);
  log_.reset();
  size_t damaged = 0;
  for (const std::string& path : Segments("t")) {
    std::string content = Slurp(path);
    const size_t at = content.find(newer);
    if (at == std::string::npos) continue;
    content[at + 50] = static_cast<char>(content[at + 50] ^ 1);
    Spill(path, content);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1U);
  options_.salvage = true;
  MustOpen();
  const Readout readout = ReadAll("t");
  EXPECT_EQ(readout.losses.size(), 1U);
  EXPECT_EQ(readout.records.front().value, older);
}

TEST_F(CompactionTest, TopicsWithoutCompactionAreUnchanged) {
  MustOpen();
  Topic("t");
  for (int i = 0; i < 100; ++i) Append({Out("t", std::string(50, 'x'), "same key")});
  ASSERT_TRUE(log_->Maintain().ok());
  EXPECT_EQ(Values("t").size(), 100U);
}

TEST_F(CompactionTest, ReadersContinueDuringCompaction) {
  MustOpen();
  Topic("t", 1, true);
  std::vector<Written> all;
  auto early = log_->OpenReader({"t", 0}, kFromStart);
  for (int i = 0; i < 100; ++i) {
    all.push_back({i, Cat("k", i % 3), Cat(i, std::string(60, 'x')), false});
    Append({Out("t", all.back().value, all.back().key)});
  }
  std::vector<Record> got;
  ASSERT_TRUE((*early)->Poll(5, 1 << 20, Duration::Zero(), &got).ok());
  ASSERT_TRUE(log_->Maintain().ok());
  for (size_t before = 0; before != got.size();) {
    before = got.size();
    const Status polled = (*early)->Poll(1000, 1 << 20, Duration::Zero(), &got);
    ASSERT_TRUE(polled.ok()) << polled;
  }
  EXPECT_EQ(got[4].offset, 4);
  EXPECT_EQ(got.back().offset, 99);
  EXPECT_EQ((*early)->position(), 100);
}

TEST_F(CompactionTest, ReadOnlyLogKeepsReadingReplacedFiles) {
  MustOpen();
  Topic("t", 1, true);
  for (int i = 0; i < 100; ++i) Append({Out("t", Cat(i, std::string(60, 'x')), Cat("k", i % 3))});
  EmbeddedLogOptions reading = options_;
  reading.read_only = true;
  const auto reader = OpenEmbeddedLog(reading, &clock_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(log_->Maintain().ok());  // replaces files of the writer
  const Readout readout = ReadAll(reader->get(), {"t", 0});
  EXPECT_TRUE(readout.losses.empty());
  EXPECT_EQ(readout.records.size(), 100U);
  EXPECT_LT(ReadAll("t").records.size(), 50U);
}

TEST_F(CompactionTest, RandomWritesCompactionsAndRestarts_KeepNewestRecords) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  // The memory limit allows only a few keys, so each compaction covers only some segments.
  options_.compaction_map_bytes = 600;
  options_.compress = true;
  MustOpen();
  Topic("t", 1, true);
  std::vector<Written> all;
  for (int step = 0; step < 400; ++step) {
    std::vector<OutgoingRecord> records;
    for (unsigned i = 0; i < 1 + random() % 8; ++i) {
      OutgoingRecord record =
          Out("t", Cat(all.size(), std::string(random() % 120, 'x')), Cat("key", random() % 12));
      record.tombstone = random() % 6 == 0;
      if (record.tombstone) record.value.clear();
      all.push_back({static_cast<int64_t>(all.size()), record.key, record.value, record.tombstone});
      records.push_back(std::move(record));
    }
    Append(std::move(records));
    clock_.Advance(50 * kNanosPerMilli);
    if (random() % 10 == 0) {
      const Status maintained = log_->Maintain();
      ASSERT_TRUE(maintained.ok()) << maintained;
      ExpectNewest(all, true);
    }
    if (random() % 40 == 0) MustOpen();
    if (HasFailure()) return;
  }
  ASSERT_TRUE(log_->Maintain().ok());
  ExpectNewest(all, true);
  EXPECT_LT(ReadAll("t").records.size(), all.size() / 4);
  EXPECT_LT(Segments("t").size(), 12U);
}

TEST_F(CompactionTest, FullDisk_KeepsOldFiles) {
  const std::vector<Written> all = WriteTenRecordsPerKey();
  for (int64_t space = 0; space < 6000; space += 211) {
    options_.faults->SetSpace(space);
    const Status maintained = log_->Maintain();
    options_.faults->SetSpace(-1);
    ExpectNewest(all, false);
    if (maintained.ok()) return;
    EXPECT_EQ(maintained.code(), absl::StatusCode::kResourceExhausted) << maintained;
    EXPECT_TRUE(FilesIn(Cat(options_.dir, "/topics/t/0"), ".tmp").empty());
  }
  ADD_FAILURE() << "compaction never had enough space";
}

TEST_F(CompactionTest, RecoveryFinishesInterruptedCompaction) {
  const std::vector<Written> all = WriteTenRecordsPerKey();
  CopyDir(options_.dir, Dir("before"));
  ASSERT_TRUE(log_->Maintain().ok());
  CopyDir(options_.dir, Dir("after"));
  log_.reset();
  // Simulates a kill between the creation of the new files and the deletion of the old ones.
  const std::string partition = "/topics/t/0/";
  auto old_names = files::ListDirectory(Cat(Dir("before"), partition));
  for (const std::string& name : *old_names) {
    Spill(Cat(Dir("after"), partition, name), Slurp(Cat(Dir("before"), partition, name)));
  }
  options_.dir = Dir("after");
  MustOpen();
  ExpectNewest(all, false);
  EXPECT_LT(Segments("t").size(), old_names->size());
  Append({Out("t", "next", "k0")});
  EXPECT_EQ(ReadAll("t").records.back().offset, 200);
}

// Compacted files are flushed immediately, so the journal frame with their end offset must be
// flushed too. Otherwise, new appends would start inside the compacted range and be deleted as
// leftovers.
TEST_F(CompactionTest, PowerLoss_KeepsCommitsAfterCompactedRange) {
  MustOpen();
  Topic("t", 1, true);
  int64_t n = 0;
  const auto append = [&](int count) {
    for (int i = 0; i < count; ++i, ++n) {
      Append({Out("t", Cat(n, std::string(60, 'x')), Cat("k", n % 20))});
    }
  };
  append(50);
  ASSERT_TRUE(log_->Sync().ok());
  append(50);
  ASSERT_TRUE(log_->Maintain().ok());
  ASSERT_EQ(log_->Stats().compactions, 1);
  CopyDir(options_.dir, Dir("cut"));
  log_.reset();
  options_.dir = Dir("cut");
  // Only the flushed part of the journal is guaranteed to survive.
  const std::string journal = Slurp(Journal());
  const JournalScan scan = ScanJournal(journal);
  size_t sure = 0;
  for (const ScannedFrame& scanned : scan.frames) {
    if (scanned.frame.kind != FrameKind::kCommit) sure = static_cast<size_t>(scanned.to);
  }
  Spill(Journal(), journal.substr(0, sure));
  MustOpen();
  Append({Out("t", "after the cut", "new")});
  MustOpen();
  EXPECT_TRUE(log_->Damage().empty());
  const Readout readout = ReadAll("t");
  ASSERT_FALSE(readout.records.empty());
  EXPECT_EQ(readout.records.back().value, "after the cut");
  EXPECT_EQ(readout.records.back().offset, n);
}

TEST_F(CompactionTest, RunsInBackgroundWhenSegmentsClose) {
  options_.background = true;
  MustOpen();
  Topic("t", 1, true);
  for (int i = 0; i < 2000; ++i) Append({Out("t", Cat(i, std::string(60, 'x')), Cat("k", i % 5))});
  while (log_->Stats().compactions == 0) std::this_thread::yield();
  EXPECT_TRUE(log_->Damage().empty());
}

}  // namespace
}  // namespace pitwall::log
