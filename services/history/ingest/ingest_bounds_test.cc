// Tests for the limits of the history: disk usage, age, a full disk, and one writer per folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/cleanup/cleanup.h"

#include "services/history/ingest/testing/ingest_fixture.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int64_t kWindow = 600 * kNanosPerSecond;

class IngestBoundsTest : public HistoryServiceTest {
 protected:
  IngestBoundsTest() { options_.retention_ns = kMaxPosition; }

  // Sends two windows of incompressible noise, starting at the given time.
  void SendJob(const std::string& job, int64_t from_ns, bool ends) {
    const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "n"}}});
    for (int window = 0; window < 2; ++window) {
      OwnedBatch b(Cat("source of ", job), static_cast<uint64_t>(window) + 1);
      b.batch.job = job;
      b.batch.schemas.emplace_back(schema);
      std::vector<int64_t> times;
      std::vector<double> cells;
      for (int row = 0; row < 4000; ++row) {
        times.push_back(from_ns + window * kWindow + row * 100 * kNanosPerMilli);
        cells.push_back(static_cast<double>(random_()));
      }
      b.Rows(schema, times, cells);
      Send(b.batch);
    }
    if (!ends) return;
    IssueEvent event;
    event.type = EventType::kJobChanged;
    event.job = job;
    event.time = EventTime::FromNs(from_ns + 2 * kWindow);
    event.attempt = 1;
    event.job_change = JobChange::kEnded;
    event.end_detail = EndDetail::kCompleted;
    event.sequence = 1;
    event.id = MakeEventId(event);
    Send(event);
  }
  // Seals four jobs. The oldest job is still running.
  void SealJobs() {
    Open();
    SendJob("runs", kBegin, false);
    SendJob("first", kBegin + 2 * kWindow, true);
    SendJob("second", kBegin + 4 * kWindow, true);
    SendJob("third", kBegin + 6 * kWindow, true);
    Await();
    Close();
  }
  std::vector<std::string> Jobs() const {
    std::vector<std::string> out;
    for (const JobLifePtr& job : history().Jobs()) out.push_back(job->id);
    return out;
  }
  size_t Samples(const std::string& job) const {
    SampleQuery query;
    query.job = job;
    const auto columns = history().Samples(query);
    EXPECT_TRUE(columns.ok()) << columns.status();
    return columns.ok() && !columns->empty() ? (*columns)[0].values.size() : 0;
  }
  uint64_t RollupCount(const std::string& job) const {
    SeriesQuery query;
    query.job = job;
    const auto columns = history().Rollups(query, 1);
    EXPECT_TRUE(columns.ok()) << columns.status();
    uint64_t count = 0;
    for (const RollupColumn& column : *columns) {
      for (const RollupRow& row : column.rows) count += row.count;
    }
    return count;
  }

  std::mt19937_64 random_{6};
};

// Raw samples of the oldest finished job are dropped first, but no more than necessary.
TEST_F(IngestBoundsTest, ByteLimit_DropsRawSamplesOfOldestFinishedJobFirst) {
  SealJobs();
  Open();
  const auto bytes = static_cast<int64_t>(keep_->disk_bytes());
  Close();
  options_.max_bytes = bytes - 20'000;  // dropping the raw samples of one window suffices
  const int64_t before_ns = clock_.WallNs();
  Open();
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  EXPECT_LE(keep_->disk_bytes(), static_cast<uint64_t>(options_.max_bytes));
  EXPECT_THAT(Jobs(), UnorderedElementsAre("runs", "first", "second", "third"));
  EXPECT_EQ(Samples("first"), 4000U);
  EXPECT_EQ(RollupCount("first"), 8000U);
  EXPECT_EQ((*history().FindJob("first"))->raw_from_ns, kBegin + 3 * kWindow);
  for (const char* whole : {"runs", "second", "third"}) EXPECT_EQ(Samples(whole), 8000U) << whole;
  // The time when the samples were dropped is persisted.
  const int64_t dropped_ns = (*history().FindJob("first"))->raw_dropped_ns;
  EXPECT_GE(dropped_ns, before_ns);
  EXPECT_LE(dropped_ns, clock_.WallNs());
  Close();
  Open();
  EXPECT_EQ((*history().FindJob("first"))->raw_dropped_ns, dropped_ns);
  EXPECT_EQ((*history().FindJob("second"))->raw_dropped_ns, 0);
}

// If the limit is far too low, all finished jobs are removed. The running job keeps its rollups,
// and health reports the exceeded limit.
TEST_F(IngestBoundsTest, RunningJobIsNeverRemoved) {
  SealJobs();
  options_.max_bytes = 1000;
  Open();
  const Status status = keep_->EnforceBounds();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(ToStd(status.message()), HasSubstr("insights.max_bytes"));
  EXPECT_THAT(Jobs(), ElementsAre("runs"));
  EXPECT_EQ(Samples("runs"), 0U);
  EXPECT_EQ(RollupCount("runs"), 8000U);
}

// The age of a job is the time between its last sample and the newest sample of any job.
TEST_F(IngestBoundsTest, TimeLimit_RemovesOnlyFinishedJobs) {
  SealJobs();
  // "third" ends in the eighth window, "second" in the sixth, and "first" in the fourth.
  options_.retention_ns = 3 * kWindow;
  Open();
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  EXPECT_THAT(Jobs(), UnorderedElementsAre("runs", "second", "third"));
  for (const std::string& job : Jobs()) EXPECT_EQ(Samples(job), 8000U) << job;
}

// Issue 26, F1: jobs do not age while no data arrives.
TEST_F(IngestBoundsTest, WallTimeAlone_DoesNotAgeJobs) {
  SealJobs();
  options_.retention_ns = 5 * kWindow;  // the data is months old
  Open();
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  EXPECT_THAT(Jobs(), UnorderedElementsAre("runs", "first", "second", "third"));
}

// A clock that can jump ahead.
class ShiftedClock final : public Clock {
 public:
  int64_t WallNs() const override { return system_.WallNs() + ahead_ns; }
  int64_t MonotonicNs() const override { return system_.MonotonicNs(); }
  std::unique_ptr<Wakeup> NewWakeup() override { return system_.NewWakeup(); }
  std::atomic<int64_t> ahead_ns{0};

 private:
  clock::SystemClock system_;
};

// Issue 26, F1: while the clock is wrong, a job appears to end 45 days after the other jobs.
TEST_F(IngestBoundsTest, TemporaryWallClockJump_DoesNotRemoveJobs) {
  constexpr int64_t kJumpNs = int64_t{45} * 86'400 * kNanosPerSecond;
  ShiftedClock shifted;
  const absl::Cleanup close_before_clock_ends = [this] { keep_.reset(); };
  const auto open = [&] {
    auto keep = HistoryService::Open(&shifted, &log_, options_);
    ASSERT_TRUE(keep.ok()) << keep.status();
    keep_ = *std::move(keep);
    ASSERT_TRUE(keep_->Start().ok());
  };
  options_.retention_ns = int64_t{30} * 86'400 * kNanosPerSecond;
  open();
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  const int64_t now_ns = WindowOf(clock_.WallNs()) - 10 * kWindow;
  SendJob("first", now_ns, true);
  Await();
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  shifted.ahead_ns = kJumpNs;
  SendJob("ahead", now_ns + kJumpNs, true);
  Await();
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  EXPECT_THAT(Jobs(), UnorderedElementsAre("first", "ahead"));
  Close();
  open();  // the service restarts during the jump
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  shifted.ahead_ns = 0;
  ASSERT_TRUE(keep_->EnforceBounds().ok());
  EXPECT_THAT(Jobs(), UnorderedElementsAre("first", "ahead"));
}

// The disk has space for rollups but not for raw samples. Raw samples are dropped, rollups are
// kept, and health reports the full disk.
TEST_F(IngestBoundsTest, FullDisk_DropsRawSamplesBeforeRollups) {
  options_.faults = std::make_shared<files::DiskFaults>();
  Open();
  SendJob("job", kBegin, false);
  Await();
  // Only writing the first segment fails, because it contains raw samples. The next segment
  // contains no raw samples and fits.
  options_.faults->OnlyBelow(Cat(kBegin / kNanosPerSecond, "-1.seg"));
  options_.faults->SetSpace(0);
  Close();  // Close seals the windows
  options_.faults->SetSpace(-1);
  Open();
  EXPECT_EQ(RollupCount("job"), 8000U);
  EXPECT_EQ(Samples("job"), 4000U);
  EXPECT_EQ((*history().FindJob("job"))->raw_from_ns, kBegin + kWindow);
}

TEST_F(IngestBoundsTest, SecondWriterForFolderIsRejected) {
  Open();
  const auto second = HistoryService::Open(&clock_, &log_, options_);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(ToStd(second.status().message()), HasSubstr(dir_));
  Close();
  EXPECT_TRUE(HistoryService::Open(&clock_, &log_, options_).ok());
}

}  // namespace
}  // namespace pitwall::history
