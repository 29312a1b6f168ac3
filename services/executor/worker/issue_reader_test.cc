#include "services/executor/worker/issue_reader.h"
#include "services/base/time.h"

#include <gtest/gtest.h>

#include "services/executor/worker/worker_health.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"
#include "tests/fakes/replaced_log.h"

namespace pitwall::executor {
namespace {

class IssueReaderTest : public ::testing::Test {
 protected:
  IssueReaderTest() { EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {1, false, -1}).ok()); }

  void Append(int count) {
    for (int i = 0; i < count; ++i) {
      OutgoingRecord record;
      record.topic = "pitwall.issues";
      record.partition = 0;
      record.value = "issue";
      ASSERT_TRUE((*log_.OpenAppender())->Append({record}).ok());
    }
  }
  FollowedRecords Poll(absl::StatusCode code = absl::StatusCode::kOk) {
    FollowedRecords read;
    EXPECT_EQ(reader_.Poll(Duration::Zero(), &read).code(), code);
    return read;
  }
  Status Commit() {
    return log_.StorePosition("group", {"pitwall.issues", 0},
                              {reader_.position(), reader_.NextCommit()});
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  fakes::ReplacedLog replaced_log_{&log_};
  ExecutorCounters counters_;
  WorkerHealth health_;
  IssueReader reader_{&clock_,  &replaced_log_,        &counters_,
                      &health_, {"pitwall.issues", 0}, "group"};
};

TEST_F(IssueReaderTest, ContinuesAtTheEndOfAReplacedLogEvenIfTheFirstAttemptFails) {
  ASSERT_TRUE(reader_.Open().ok());
  Append(3);
  ASSERT_EQ(Poll().records.size(), 3U);
  log_.Recreate("pitwall.issues");
  EXPECT_TRUE(Poll(absl::StatusCode::kUnavailable).replaced.ok());
  Append(1);
  const FollowedRecords read = Poll();
  EXPECT_TRUE(read.records.empty());
  EXPECT_FALSE(read.replaced.ok());
  EXPECT_EQ(counters_.log_resets.value(), 1U);
  EXPECT_EQ(reader_.position(), 1);
  EXPECT_EQ(
      health_.Read(clock_.MonotonicNs()).message(),
      "log_truncated: pitwall.issues/0: the log is at offset 1, before position 3 (topic deleted, "
      "recreated, or truncated); continuing at offset 1, the end, because open issues are repeated "
      "within five minutes");
  Append(1);
  EXPECT_EQ(Poll().records.size(), 1U);
}

TEST_F(IssueReaderTest, RewindsToTheCommittedPosition) {
  ASSERT_TRUE(reader_.Open().ok());
  Append(2);
  Poll();
  ASSERT_TRUE(Commit().ok());
  Append(1);
  EXPECT_EQ(Poll().records.size(), 1U);
  EXPECT_TRUE(*reader_.Rewind());
  EXPECT_EQ(Poll().records.size(), 1U);
}

TEST_F(IssueReaderTest, RewindsToItsFirstOffsetIfNothingIsCommitted) {
  Append(1);  // before the first start, so not read
  ASSERT_TRUE(reader_.Open().ok());
  Append(2);
  EXPECT_EQ(Poll().records.size(), 2U);
  EXPECT_FALSE(*reader_.Rewind());
  EXPECT_EQ(Poll().records.size(), 2U);
}

TEST_F(IssueReaderTest, RewindReportsTheCommitOfAnotherWorker) {
  ASSERT_TRUE(reader_.Open().ok());
  Append(2);
  Poll();
  ASSERT_TRUE(Commit().ok());
  ASSERT_TRUE(log_.StorePosition("group", {"pitwall.issues", 0}, {1, "another worker"}).ok());
  EXPECT_FALSE(*reader_.Rewind());
  EXPECT_EQ(Poll().records.size(), 1U);
}

TEST_F(IssueReaderTest, ReportsALogThatWasReplacedWhileTheWorkerWasDown) {
  ASSERT_TRUE(reader_.Open().ok());
  Append(3);
  Poll();
  ASSERT_TRUE(Commit().ok());
  log_.Recreate("pitwall.issues");
  Append(1);
  IssueReader restarted(&clock_, &log_, &counters_, &health_, {"pitwall.issues", 0}, "group");
  ASSERT_TRUE(restarted.Open().ok());
  FollowedRecords read;
  ASSERT_TRUE(restarted.Poll(Duration::Zero(), &read).ok());
  EXPECT_FALSE(read.replaced.ok());
  EXPECT_EQ(restarted.position(), 1);
}

}  // namespace
}  // namespace pitwall::executor
