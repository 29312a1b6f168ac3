#include "services/executor/worker/issue_reader.h"
#include "services/base/time.h"

#include <gtest/gtest.h>

#include <vector>

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
  Status Poll(std::vector<Record>* records) {
    return reader_.Poll(100, 1 << 20, Duration::Zero(), records);
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  fakes::ReplacedLog replaced_log_{&log_};
  ExecutorCounters counters_;
  WorkerHealth health_;
  IssueReader reader_{&clock_,  &replaced_log_,        &counters_,
                      &health_, {"pitwall.issues", 0}, "group"};
};

TEST_F(IssueReaderTest, FollowReplaced_FailsOnce_StillDetectsReplacedLog) {
  ASSERT_TRUE(reader_.Open().ok());
  Append(3);
  std::vector<Record> records;
  ASSERT_TRUE(Poll(&records).ok());
  ASSERT_EQ(records.size(), 3U);
  log_.Recreate("pitwall.issues");
  records.clear();
  EXPECT_EQ(Poll(&records).code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(reader_.FollowReplaced().ok());
  Append(1);
  EXPECT_TRUE(Poll(&records).ok());
  EXPECT_TRUE(records.empty());
  const StatusOr<bool> replaced = reader_.FollowReplaced();
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_TRUE(*replaced);
  EXPECT_EQ(counters_.log_resets.value(), 1U);
  EXPECT_EQ(reader_.position(), 1);
  EXPECT_FALSE(health_.Read(clock_.MonotonicNs()).ok());
  Append(1);
  EXPECT_TRUE(Poll(&records).ok());
  EXPECT_EQ(records.size(), 1U);
}

}  // namespace
}  // namespace pitwall::executor
