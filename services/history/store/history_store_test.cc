#include "services/history/store/history_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/base/binary.h"

namespace pitwall::history {
namespace {

TEST(TombstoneTest, CoversOnlyRecordsOfTheFormerLog) {
  Tombstone written;
  written.inputs[4] = {.end = 10, .newest_append_ns = 70};
  const StatusOr<Tombstone> tombstone = DecodeTombstone(EncodeTombstone(written));
  ASSERT_TRUE(tombstone.ok()) << tombstone.status();
  EXPECT_TRUE(tombstone->Covers(4, {.offset = 9, .append_time = AppendTime::FromNs(70)}));
  EXPECT_FALSE(tombstone->Covers(4, {.offset = 10, .append_time = AppendTime::FromNs(70)}));
  EXPECT_FALSE(tombstone->Covers(4, {.offset = 0, .append_time = AppendTime::FromNs(71)}));
}

TEST(TombstoneTest, EarlierVersionsHaveNoAppendTimes) {
  for (const int64_t inputs : {4, 5}) {
    BinaryWriter body;
    for (int64_t input = 0; input < inputs; ++input) body.I64(10);
    const StatusOr<Tombstone> tombstone = DecodeTombstone(body.Take());
    ASSERT_TRUE(tombstone.ok()) << tombstone.status();
    const Record record{.offset = 9, .append_time = AppendTime::FromNs(INT64_MAX)};
    EXPECT_TRUE(tombstone->Covers(0, record));
    EXPECT_EQ(tombstone->Covers(4, record), inputs == 5);
  }
}

// Partitions and retention call Settle concurrently. No file may be removed twice.
TEST(HistoryStoreTest, ConcurrentSettle_RemovesEachFileOnce) {
  std::string dir = ::testing::TempDir() + "history_store_XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  auto opened = HistoryStore::Open(dir, /*read_only=*/false, /*first_place=*/0, nullptr);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::unique_ptr<HistoryStore> store = *std::move(opened);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, thread] {
      for (uint64_t n = 1; n <= 50; ++n) {
        SegmentMeta facts;
        facts.job = "a job with a name that is allocated";
        facts.window_ns = 600'000'000'000;
        facts.generation = 1000 * static_cast<uint64_t>(thread) + n;
        store->segments().Discard(facts);
        EXPECT_TRUE(store->Settle().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(store->Settle().ok());
  ASSERT_TRUE(files::RemoveTree(dir).ok());
}

TEST(HistoryStoreTest, JobLoadFails_JobStaysUnloadedAndCanBeLoadedLater) {
  std::string dir = ::testing::TempDir() + "history_store_XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  auto opened = HistoryStore::Open(dir, /*read_only=*/false, /*first_place=*/0, nullptr);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::unique_ptr<HistoryStore> store = *std::move(opened);
  const StoredJobPtr job = *store->FindOrAdd("job");
  SegmentMeta facts;
  facts.job = "job";
  facts.window_ns = kWindowNs;
  store::DatabaseRow damaged = SegmentRow(facts, {});
  facts.window_ns = 2 * kWindowNs;
  damaged.key = SegmentRow(facts, {}).key;  // this row is read last
  damaged.body.pop_back();
  facts.window_ns = kWindowNs;
  ASSERT_TRUE(store->database().Apply({.put = {SegmentRow(facts, {}), damaged}}).ok());
  store->UnloadUnused(job);
  ASSERT_TRUE(store->UnloadUnused(job) || !job->loaded());

  EXPECT_FALSE(store->Find("job").ok());
  EXPECT_FALSE(job->loaded());
  EXPECT_TRUE(job->windows().empty());
  EXPECT_EQ(store->counters().reloaded, 0U);

  ASSERT_TRUE(store->database().Apply({.removed = {damaged}}).ok());
  ASSERT_TRUE(store->Find("job").ok());
  EXPECT_TRUE(job->loaded());
  EXPECT_EQ(job->windows().size(), 1U);
  EXPECT_EQ(store->counters().reloaded, 1U);
  ASSERT_TRUE(files::RemoveTree(dir).ok());
}

}  // namespace
}  // namespace pitwall::history
