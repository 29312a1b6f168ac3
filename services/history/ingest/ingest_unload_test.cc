// Tests that unused jobs are unloaded from memory and loaded again when they are used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/history/ingest/history_service.h"
#include "services/history/ingest/testing/ingest_fixture.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kS = kNanosPerSecond;

class UnloadTest : public HistoryServiceTest {
 protected:
  UnloadTest() {
    options_.unload_after_ns = 20 * kNanosPerMilli;
    options_.seal_after_ns = 0;
    Open();
  }
  // Sends a batch with one row. The row's time in seconds is `sequence`.
  void SendRow(uint64_t sequence) {
    OwnedBatch b("rank-0", sequence, 0);
    b.batch.info.node = "node-1";
    if (sequence == 1) b.batch.schemas.emplace_back(schema_);
    b.Rows(schema_, {kBegin + static_cast<int64_t>(sequence) * kS},
           {static_cast<double>(sequence)});
    Send(b.batch);
  }
  void AwaitUnloaded(uint64_t times) {
    AwaitThat([&] { return keep_->counters().unloaded >= times; });
  }
  std::vector<double> Losses() const {
    SampleQuery query;
    query.job = "job-1";
    const auto samples = history().Samples(query);
    EXPECT_TRUE(samples.ok()) << samples.status();
    return samples.ok() && samples->size() == 1 ? (*samples)[0].values : std::vector<double>();
  }

  const Schema schema_ = SchemaOf(1, {{{"__name__", "train_loss"}, {"rank", "0"}}});
};

TEST_F(UnloadTest, UnusedJob_IsUnloadedAndReloadedOnRead) {
  Changed(JobChange::kStarted, kBegin);
  SendRow(1);
  SendRow(2);
  Changed(JobChange::kEnded, kBegin + 3 * kS, 1, EndDetail::kCompleted);
  Await();
  AwaitUnloaded(1);
  const auto jobs = history().Jobs();  // this call does not load jobs
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0]->samples, 2U);
  EXPECT_EQ(jobs[0]->end_detail, EndDetail::kCompleted);
  EXPECT_THAT(jobs[0]->sources, SizeIs(1));
  EXPECT_EQ(keep_->counters().reloaded, 0U);
  EXPECT_THAT(Losses(), ElementsAre(1, 2));
  EXPECT_EQ(keep_->counters().reloaded, 1U);
  AwaitUnloaded(2);
  EXPECT_THAT(Losses(), ElementsAre(1, 2));
}

TEST_F(UnloadTest, AfterUnloading_NewBatchIsStoredAndDuplicateIsDropped) {
  SendRow(1);
  SendRow(2);
  Await();
  AwaitUnloaded(1);
  SendRow(2);  // the second batch is sent again
  SendRow(3);  // only the catalog has the schema
  Await();
  EXPECT_THAT(Losses(), ElementsAre(1, 2, 3));
  EXPECT_EQ(keep_->counters().duplicates, 1U);
  AwaitUnloaded(2);
  Close();
  Open();
  EXPECT_THAT(Losses(), ElementsAre(1, 2, 3));
}

TEST_F(UnloadTest, UnloadedJobExpires_IsNotCountedAsLoaded) {
  Close();
  options_.retention_ns = 3600 * kS;
  Open();
  SendRow(1);
  Changed(JobChange::kEnded, kBegin + 2 * kS, 1, EndDetail::kCompleted);
  OwnedBatch later("rank-0", 1, 0);
  later.batch.job = "later";
  later.batch.schemas.emplace_back(schema_);
  later.Rows(schema_, {kBegin + 7200 * kS}, {1});
  Send(later.batch);
  Await();
  AwaitUnloaded(2);
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  EXPECT_THAT(history().Jobs(), SizeIs(1));
  EXPECT_THAT(exposition_.Render(), HasSubstr("\npitwall_insights_jobs_in_memory 0\n"));
}

TEST_F(UnloadTest, ReadsDuringUnload_ReturnAllRows) {
  constexpr uint64_t kReloads = 10;
  std::vector<double> expected = {1, 2, 3};
  for (uint64_t sequence = 1; sequence <= expected.size(); ++sequence) SendRow(sequence);
  Await();
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (keep_->counters().reloaded < kReloads) {
        EXPECT_EQ(Losses(), expected);
        EXPECT_EQ(history().Jobs().at(0)->samples, expected.size());
        AwaitUnloaded(keep_->counters().reloaded + 1);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
}

TEST_F(UnloadTest, UnloadedJob_CanBeDeleted) {
  SendRow(1);
  Changed(JobChange::kEnded, kBegin + 2 * kS, 1, EndDetail::kCompleted);
  Await();
  AwaitUnloaded(1);
  ASSERT_TRUE(keep_->DeleteJob("job-1").ok());
  EXPECT_THAT(history().Jobs(), SizeIs(0));
}

}  // namespace
}  // namespace pitwall::history
