// Tests that an unwritable partition does not delay jobs in other partitions (time-model.md,
// scenario 17).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/publishing/publisher.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

class PublisherLanesTest : public ::testing::Test {
 protected:
  void Start(bool spool, size_t queue_bytes = 1u << 20, uint64_t spool_bytes = 8u << 20) {
    PublisherOptions options;
    options.topic = "t";
    options.queue_bytes = queue_bytes;
    options.spool_bytes = spool_bytes;
    options.append_records = 4;
    if (spool) options.spool_dir = root_.At("spool");
    publisher_ = std::make_unique<Publisher>(options, clock_, &appender_, &counters_, &cursors_);
    const Status status = publisher_->Start();
    ASSERT_TRUE(status.ok()) << status;
  }
  void Offer(const std::string& job, int from, int to, size_t bytes = 0) {
    for (int i = from; i < to; ++i) publisher_->Offer(job, Cat(i, " ", std::string(bytes, 'x')));
  }
  // Returns the record numbers of each job without duplicates, as a processor would receive them.
  std::map<std::string, std::vector<int>> Numbers() const {
    std::map<std::string, std::vector<int>> all;
    for (const OutgoingRecord& record : appender_.records()) {
      std::vector<int>& numbers = all[record.key];
      const int number = std::stoi(record.value);
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        numbers.push_back(number);
    }
    return all;
  }
  static std::vector<int> Range(int from, int to) {
    std::vector<int> out;
    for (int i = from; i < to; ++i) out.push_back(i);
    return out;
  }
  // Waits in real time, but only until the publisher's thread has appended the records.
  void AwaitNumbers(const std::string& job, size_t count) {
    // The records are counted before the numbers are checked; otherwise, a record appended in
    // between would be missed.
    for (size_t records = appender_.records().size(); Numbers()[job].size() < count;
         records = appender_.records().size())
      appender_.AwaitRecords(records + 1);
  }
  // The last appended record leaves the spool only once it is acknowledged, slightly after the
  // appender receives it. The test's timeout bounds this wait.
  void AwaitSpooled(uint64_t count) {
    while (counters_.spool_records != count) std::this_thread::yield();
  }
  void Pass(int64_t ns) {
    for (; ns > 0; ns -= kNanosPerSecond) {
      clock_.AwaitWaiters(1);
      clock_.Advance(std::min(ns, kNanosPerSecond));
    }
    clock_.AwaitWaiters(1);
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  ClientCursors cursors_;
  std::unique_ptr<Publisher> publisher_;
};

TEST_F(PublisherLanesTest, FailingPartition_DoesNotDelayOtherJobs) {
  for (bool spool : {true, false}) {
    SCOPED_TRACE(spool);
    appender_.FailKey("bad", Unavailable("no leader"));
    Start(spool);
    const size_t before = Numbers()["good"].size();
    ASSERT_EQ(before, spool ? 0u : 30u);
    for (int second = 0; second < 30; ++second) {
      const int at = static_cast<int>(before) + second;
      Offer("bad", at, at + 1);
      Offer("good", at, at + 1);
      // The record is published immediately, without advancing the clock.
      AwaitNumbers("good", before + static_cast<size_t>(second) + 1);
      Pass(kNanosPerSecond);
    }
    EXPECT_EQ(counters_.lanes_failing, 1u);
    EXPECT_EQ(counters_.spool_records, spool ? 30u : 0u);
    appender_.FreeKey();
    Pass(6 * kNanosPerSecond);
    AwaitNumbers("bad", before + 30);
    publisher_->Stop();
    EXPECT_EQ(Numbers()["bad"], Range(0, static_cast<int>(before) + 30));
    EXPECT_EQ(Numbers()["good"], Range(0, static_cast<int>(before) + 30));
    EXPECT_EQ(counters_.lanes_failing, 0u);
    EXPECT_EQ(counters_.dropped_queue_full + counters_.dropped_spool_full, 0u);
  }
}

TEST_F(PublisherLanesTest, BlockedAppend_DoesNotDelayOtherJobs) {
  appender_.FailKey("bad", OkStatus(), /*corked=*/true);
  Start(true);
  Offer("bad", 0, 1);
  appender_.AwaitCalls(1);
  Offer("good", 0, 1);  // the only worker serves the other lane but is not stuck yet
  clock_.Advance(kNanosPerSecond);
  for (int i = 1; i < 20; ++i) {
    Offer("bad", i, i + 1);
    Offer("good", i, i + 1);
    AwaitNumbers("good", static_cast<size_t>(i) + 1);
  }
  AwaitSpooled(20);  // these records are queued behind the blocked append
  appender_.FreeKey();
  AwaitNumbers("bad", 20);
  publisher_->Stop();
  EXPECT_EQ(Numbers()["bad"], Range(0, 20));
  EXPECT_EQ(Numbers()["good"], Range(0, 20));
}

TEST_F(PublisherLanesTest, FullSpool_DropsOnlyRecordsOfFailingLane) {
  appender_.FailKey("bad", Unavailable("no leader"));
  Start(true, 64u << 10, 400'000);
  for (int i = 0; i < 2000; ++i) {
    Offer("bad", i, i + 1, 1000);
    if (i % 10 == 0) {
      Offer("good", i / 10, i / 10 + 1);
      AwaitNumbers("good", static_cast<size_t>(i / 10) + 1);
    }
  }
  EXPECT_GT(counters_.dropped_spool_full, 1000u);
  uint64_t on_disk = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.At("spool"))) {
    if (entry.is_regular_file()) on_disk += entry.file_size();
  }
  EXPECT_LT(on_disk, 500'000u);
  appender_.FreeKey();
  Pass(6 * kNanosPerSecond);
  AwaitNumbers("bad", 2000 - counters_.dropped_spool_full);
  publisher_->Stop();
  EXPECT_EQ(Numbers()["bad"], Range(static_cast<int>(counters_.dropped_spool_full), 2000));
  EXPECT_EQ(Numbers()["good"], Range(0, 200));
}

TEST_F(PublisherLanesTest, NoSpool_FullQueueDropsRecordsOfFailingLane) {
  appender_.FailKey("bad", Unavailable("no leader"));
  Start(false, 64u << 10);
  for (int i = 0; i < 200; ++i) {
    Offer("bad", i, i + 1, 1000);
    Offer("good", i, i + 1);
    AwaitNumbers("good", static_cast<size_t>(i) + 1);
  }
  EXPECT_GT(counters_.dropped_queue_full, 100u);
  publisher_->Stop();
  EXPECT_EQ(Numbers()["good"], Range(0, 200));
}

TEST_F(PublisherLanesTest, PreviousSpoolFormat_IsMovedToLanes) {
  {
    auto legacy = Spool::Open(root_.At("spool"), 1u << 20, &counters_);
    ASSERT_TRUE(legacy.ok());
    std::vector<PendingRecord> records;
    for (int i = 0; i < 600; ++i) records.push_back({i % 2 == 0 ? "good" : "bad", Cat(i / 2), ""});
    Spool::Position end;
    ASSERT_TRUE((*legacy)->Append(records, &end).ok());
  }
  // Rewrites the file in the previous format, without notes.
  for (const auto& entry : std::filesystem::directory_iterator(root_.At("spool"))) {
    if (entry.path().extension() != ".spool") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::string old = "PWSPOOL1";
    const auto u32 = [](const std::string& s, size_t at) {
      uint32_t v = 0;
      for (size_t k = 0; k < 4; ++k) v |= uint32_t{static_cast<unsigned char>(s[at + k])} << 8 * k;
      return v;
    };
    const auto put = [](std::string* out, uint32_t v) {
      for (int k = 0; k < 4; ++k) out->push_back(static_cast<char>(v >> (8 * k)));
    };
    for (size_t at = 8; at < bytes.size();) {
      const uint32_t length = u32(bytes, at);
      std::string payload = bytes.substr(at + 8, length);
      payload.erase(4, 4);  // length of the note
      put(&old, static_cast<uint32_t>(payload.size()));
      put(&old, Crc32c(payload));
      old += payload;
      at += 8 + length;
    }
    std::ofstream(entry.path(), std::ios::binary) << old;
  }
  appender_.FailKey("bad", Unavailable("no leader"));
  Start(true);
  Offer("good", 300, 301);
  AwaitNumbers("good", 301);
  AwaitSpooled(300);
  publisher_->Stop();
  appender_.FreeKey();
  Start(true);
  Offer("bad", 300, 301);
  AwaitNumbers("bad", 301);
  publisher_->Stop();
  EXPECT_EQ(Numbers()["good"], Range(0, 301));
  EXPECT_EQ(Numbers()["bad"], Range(0, 301));
  EXPECT_EQ(counters_.dropped_damaged, 0u);
}

TEST_F(PublisherLanesTest, IdleLanesAreRemoved) {
  Start(true);
  for (int job = 0; job < 50; ++job) Offer(Cat("job-", job), 0, 1);
  appender_.AwaitRecords(50);
  const auto directories = [this] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root_.At("spool")))
      count += entry.is_directory() ? 1 : 0;
    return count;
  };
  clock_.AwaitWaiters(1);
  EXPECT_EQ(directories(), 50u);
  Pass(61 * kNanosPerSecond);
  Offer("new", 0, 1);
  appender_.AwaitRecords(51);
  clock_.AwaitWaiters(1);
  publisher_->Stop();
  EXPECT_EQ(directories(), 0u);
}

TEST_F(PublisherLanesTest, WithSpool_RecordIsDurableBeforeAppend) {
  appender_.FailKey("job", OkStatus(), /*corked=*/true);
  Start(true);
  const ClientCursor cursor{"job", "rank-0@n", "b", 7, 5, 12, 99};
  publisher_->Offer("job", "0", EncodeCursor(cursor));
  appender_.AwaitCalls(1);
  EXPECT_EQ(cursors_.Find("job", "rank-0@n", "b"), cursor);
  // Simulates a kill by copying the current files.
  std::filesystem::copy(root_.At("spool"), root_.At("copy"),
                        std::filesystem::copy_options::recursive);
  appender_.FreeKey();
  publisher_->Stop();
  ClientCursors found;
  Counters counters;
  auto spools = SpoolSet::Open(root_.At("copy"), 1u << 20, &counters, &found);
  ASSERT_TRUE(spools.ok()) << spools.status();
  EXPECT_EQ(found.Find("job", "rank-0@n", "b"), cursor);
  EXPECT_EQ(counters.spool_records, 1u);
  // The cursor also survives after all records are published and their files removed.
  publisher_.reset();
  ClientCursors after;
  auto later = SpoolSet::Open(root_.At("spool"), 1u << 20, &counters_, &after);
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(after.Find("job", "rank-0@n", "b"), cursor);
}

TEST_F(PublisherLanesTest, WithoutSpool_RecordIsDurableAfterAppend) {
  appender_.FailKey("job", OkStatus(), /*corked=*/true);
  Start(false);
  const ClientCursor cursor{"job", "rank-0@n", "b", 7, 5, 12, 99};
  publisher_->Offer("job", "0", EncodeCursor(cursor));
  appender_.AwaitCalls(1);
  EXPECT_EQ(cursors_.Find("job", "rank-0@n", "b"), std::nullopt);
  appender_.FreeKey();
  publisher_->Stop();
  EXPECT_EQ(cursors_.Find("job", "rank-0@n", "b"), cursor);
}

TEST(ClientCursors, KeepsNewestCursorsWithinLimit) {
  ClientCursors cursors(2);
  cursors.Advance(EncodeCursor({"j", "a", "b", 5, 5, 5, 5}));
  cursors.Advance(EncodeCursor({"j", "a", "b", 4, 4, 4, 4}));  // this cursor is older
  EXPECT_EQ(cursors.version(), 1u);
  EXPECT_EQ(cursors.Find("j", "a", "b")->received, 5u);
  cursors.Advance(EncodeCursor({"j", "c", "b", 1, 1, 1, 1}));
  cursors.Advance(EncodeCursor({"j", "a", "b", 6, 6, 6, 6}));
  cursors.Advance(EncodeCursor({"j", "d", "b", 1, 1, 1, 1}));
  EXPECT_EQ(cursors.Find("j", "c", "b"), std::nullopt);
  EXPECT_EQ(cursors.Find("j", "a", "b")->received, 6u);
  std::string saved = cursors.Save();
  ClientCursors other;
  ASSERT_TRUE(other.Restore(saved).ok());
  EXPECT_EQ(other.Find("j", "a", "b")->received, 6u);
  for (size_t i = 0; i < saved.size(); ++i) {
    std::string bad = saved;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    ClientCursors damaged;
    EXPECT_EQ(damaged.Restore(bad).code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_FALSE(ClientCursors().Restore(saved.substr(0, i)).ok());
  }
  cursors.Advance("nonsense");
  cursors.Advance("");
}

}  // namespace
}  // namespace pitwall::collector
