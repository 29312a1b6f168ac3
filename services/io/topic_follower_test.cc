#include "services/io/topic_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "services/base/text/strings.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"
#include "tests/fakes/replaced_log.h"

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Resume = FollowerOptions::Resume;

const TopicPartition kAt{"topic", 0};

class TopicFollowerTest : public testing::Test {
 protected:
  void Append(std::string_view value) {
    if (appender_ == nullptr) {
      ASSERT_TRUE(log_.EnsureTopic("topic", {.partitions = 1}).ok());
      appender_ = *log_.OpenAppender();
    }
    // Two records never have the same append time.
    clock_.Advance(kNanosPerSecond);
    ASSERT_TRUE(
        appender_->Append({{.topic = "topic", .partition = 0, .value = std::string(value)}}).ok());
  }
  // Polls without waiting. Every poll checks for a replaced log.
  FollowedRecords Poll(TopicFollower& follower, absl::StatusCode code = absl::StatusCode::kOk) {
    clock_.Advance(20 * kNanosPerSecond);
    FollowedRecords out;
    const Status polled = follower.Poll(Duration::Zero(), &out);
    EXPECT_EQ(polled.code(), code) << polled;
    return out;
  }
  static std::vector<std::string> Values(const FollowedRecords& read) {
    std::vector<std::string> values;
    for (const Record& record : read.records) values.push_back(record.value);
    return values;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  std::unique_ptr<Appender> appender_;
};

TEST_F(TopicFollowerTest, OpensThePartitionWhenItExists) {
  TopicFollower follower(&clock_, &log_, kAt);
  Poll(follower, absl::StatusCode::kNotFound);
  EXPECT_FALSE(follower.is_open());
  Append("a");
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("a"));
  EXPECT_EQ(follower.position(), 1);
}

TEST_F(TopicFollowerTest, RepeatsTheErrorUntilTheNextAttemptIsDue) {
  TopicFollower follower(&clock_, &log_, kAt, {.open_interval = Duration::Seconds(5)});
  FollowedRecords out;
  EXPECT_TRUE(absl::IsNotFound(follower.Poll(Duration::Zero(), &out)));
  Append("a");
  EXPECT_TRUE(absl::IsNotFound(follower.Poll(Duration::Zero(), &out)));
  clock_.Advance(5 * kNanosPerSecond);
  EXPECT_TRUE(follower.Poll(Duration::Zero(), &out).ok());
  EXPECT_THAT(Values(out), ElementsAre("a"));
}

TEST_F(TopicFollowerTest, APartitionBeyondTheTopicIsNotFound) {
  Append("a");
  TopicFollower follower(&clock_, &log_, {"topic", 3});
  FollowedRecords out;
  const Status polled = follower.Poll(Duration::Zero(), &out);
  EXPECT_TRUE(absl::IsNotFound(polled));
  EXPECT_THAT(polled.message(), HasSubstr("topic/3: does not exist (partitions of the topic: 1)"));
}

TEST_F(TopicFollowerTest, StartsAtTheGivenPlace) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower offset(&clock_, &log_, kAt, {.from = 1});
  EXPECT_THAT(Values(Poll(offset)), ElementsAre("b", "c"));
  TopicFollower last(&clock_, &log_, kAt, {.last_offsets = 1});
  EXPECT_THAT(Values(Poll(last)), ElementsAre("c"));
  TopicFollower all(&clock_, &log_, kAt, {.last_offsets = 100});
  EXPECT_THAT(Values(Poll(all)), ElementsAre("a", "b", "c"));
  TopicFollower end(&clock_, &log_, kAt, {.from = kFromEnd});
  EXPECT_THAT(Values(Poll(end)), IsEmpty());
  Append("d");
  EXPECT_THAT(Values(Poll(end)), ElementsAre("d"));
}

TEST_F(TopicFollowerTest, IsCaughtUpAfterTheRecordsThatExistedAtOpening) {
  for (const char* value : {"a", "b"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.max_records = 1});
  ASSERT_TRUE(follower.Open().ok());
  EXPECT_FALSE(follower.caught_up());
  Append("c");
  Poll(follower);
  EXPECT_FALSE(follower.caught_up());
  Poll(follower);
  EXPECT_TRUE(follower.caught_up());
}

TEST_F(TopicFollowerTest, IsCaughtUpAfterTheRecordsOfAReplacedLog) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.max_records = 1});
  Poll(follower);
  log_.Recreate("topic");
  EXPECT_FALSE(Poll(follower).replaced.ok());
  EXPECT_TRUE(follower.caught_up());
}

TEST_F(TopicFollowerTest, ReportsLostRecordsAndContinues) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.from = 0});
  ASSERT_TRUE(follower.Open().ok());
  log_.Drop("topic", 0, 2);
  FollowedRecords read = Poll(follower);
  EXPECT_TRUE(absl::IsDataLoss(read.loss));
  EXPECT_TRUE(read.replaced.ok());
  if (read.records.empty()) read = Poll(follower);
  EXPECT_THAT(Values(read), ElementsAre("c"));
  EXPECT_EQ(follower.resets(), 0u);
}

TEST_F(TopicFollowerTest, KeepsThePositionOverAnError) {
  for (const char* value : {"a", "b"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.max_records = 1});
  Poll(follower);
  log_.FailPolls(1, Unavailable("no leader"));
  EXPECT_THAT(Values(Poll(follower, absl::StatusCode::kUnavailable)), IsEmpty());
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("b"));
}

TEST_F(TopicFollowerTest, DoesNotCheckForAReplacedLogAfterAnError) {
  for (const char* value : {"a", "b"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt);
  Poll(follower);
  log_.Recreate("topic");
  log_.FailPolls(1, Unavailable("no leader"));
  EXPECT_TRUE(Poll(follower, absl::StatusCode::kUnavailable).replaced.ok());
  EXPECT_FALSE(Poll(follower).replaced.ok());
}

TEST_F(TopicFollowerTest, RestartsInAReplacedLogAtItsStart) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt);
  Poll(follower);
  log_.Recreate("topic");
  Append("new");
  const FollowedRecords read = Poll(follower);
  EXPECT_TRUE(absl::IsFailedPrecondition(read.replaced));
  EXPECT_EQ(read.replaced.message(),
            "log_truncated: topic/0: the log is at offset 1, before position 3 (topic deleted, "
            "recreated, or truncated); continuing at offset 0");
  EXPECT_THAT(Values(read), IsEmpty());
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("new"));
  EXPECT_EQ(follower.resets(), 1u);
}

TEST_F(TopicFollowerTest, ContinuesInAReplacedLogAtItsEnd) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.resume = Resume::kEnd});
  Poll(follower);
  log_.Recreate("topic");
  Append("skipped");
  EXPECT_FALSE(Poll(follower).replaced.ok());
  Append("new");
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("new"));
}

TEST_F(TopicFollowerTest, ContinuesInAReplacedLogAfterTheNewestRecord) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.resume = Resume::kAfterNewest});
  Poll(follower);
  log_.Cut("topic", 0, 1);
  const FollowedRecords read = Poll(follower);
  EXPECT_THAT(read.replaced.message(), HasSubstr("continuing at offset 1"));
  Append("new");
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("new"));
}

TEST_F(TopicFollowerTest, NeverContinuesInAReplacedLog) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.resume = Resume::kNever});
  Poll(follower);
  const LogFingerprint mark = follower.mark();
  log_.Recreate("topic");
  Append("new");
  for (int i = 0; i < 2; ++i) {
    const FollowedRecords read = Poll(follower, absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Values(read), IsEmpty());
    EXPECT_TRUE(read.replaced.ok());
  }
  const auto take = [](FollowedRecords*) { return OkStatus(); };
  EXPECT_EQ(follower.ReadToEnd(take).message(),
            "log_truncated: topic/0: the log is at offset 1, before position 3 (topic deleted, "
            "recreated, or truncated)");
  EXPECT_EQ(follower.position(), 3);
  EXPECT_EQ(follower.resets(), 0u);
  for (const char* value : {"x", "y", "z"}) Append(value);
  follower.Restart(3, mark);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(follower.ReadToEnd(take).message(), HasSubstr("the record at offset 2 differs"));
    EXPECT_FALSE(follower.is_open());
  }
}

// The reader moves to the end of the new log in Poll.
TEST_F(TopicFollowerTest, NeverContinuesAfterTheReaderHasMovedBack) {
  fakes::ReplacedLog replaced(&log_);
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &replaced, kAt, {.resume = Resume::kNever});
  Poll(follower);
  log_.Recreate("topic");
  Append("new");
  Poll(follower, absl::StatusCode::kUnavailable);
  Append("next");
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(Values(Poll(follower, absl::StatusCode::kFailedPrecondition)), IsEmpty());
}

TEST_F(TopicFollowerTest, ChecksForAReplacedLogOnlyWhenDue) {
  for (const char* value : {"a", "b"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.check_interval = Duration::Seconds(10)});
  FollowedRecords out;
  ASSERT_TRUE(follower.Poll(Duration::Zero(), &out).ok());
  ASSERT_TRUE(follower.Poll(Duration::Zero(), &out).ok());  // checks
  log_.Recreate("topic");
  ASSERT_TRUE(follower.Poll(Duration::Zero(), &out).ok());
  EXPECT_TRUE(out.replaced.ok());
  clock_.Advance(10 * kNanosPerSecond);
  ASSERT_TRUE(follower.Poll(Duration::Zero(), &out).ok());
  EXPECT_FALSE(out.replaced.ok());
}

// The reader moves to the end of the new log in Poll, and EndOffset fails once.
TEST_F(TopicFollowerTest, HandlesAReaderThatHasMovedBack) {
  fakes::ReplacedLog replaced(&log_);
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &replaced, kAt);
  Poll(follower);
  log_.Recreate("topic");
  Append("new");
  EXPECT_THAT(Values(Poll(follower, absl::StatusCode::kUnavailable)), IsEmpty());
  EXPECT_FALSE(Poll(follower).replaced.ok());
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("new"));
}

TEST_F(TopicFollowerTest, ReportsALogThatDoesNotMatchTheStoredMark) {
  for (const char* value : {"a", "b"}) Append(value);
  TopicFollower before(&clock_, &log_, kAt);
  Poll(before);
  const LogFingerprint mark = before.mark();
  EXPECT_EQ(mark.offset, 1);
  log_.Recreate("topic");
  for (const char* value : {"x", "y", "z"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.from = 2, .mark = mark});
  EXPECT_THAT(Poll(follower).replaced.message(), HasSubstr("the record at offset 1 differs"));
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("x", "y", "z"));
}

TEST_F(TopicFollowerTest, ContinuesAtAStoredPosition) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt);
  Poll(follower);
  follower.Restart(1, {});
  EXPECT_FALSE(follower.is_open());
  EXPECT_THAT(Values(Poll(follower)), ElementsAre("b", "c"));
  EXPECT_EQ(follower.resets(), 0u);
}

TEST_F(TopicFollowerTest, ReadsToTheCurrentEnd) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.max_records = 1});
  std::vector<std::string> values;
  const auto take = [&](FollowedRecords* read) {
    for (const std::string& value : Values(*read)) values.push_back(value);
    if (!read->replaced.ok()) values.push_back("replaced");
    return OkStatus();
  };
  ASSERT_TRUE(follower.ReadToEnd(take).ok());
  EXPECT_THAT(values, ElementsAre("a", "b", "c"));
  log_.Recreate("topic");
  Append("new");
  ASSERT_TRUE(follower.ReadToEnd(take).ok());
  EXPECT_THAT(values, ElementsAre("a", "b", "c", "replaced", "new"));
}

TEST_F(TopicFollowerTest, ReadToEndStopsAtTheFirstError) {
  for (const char* value : {"a", "b"}) Append(value);
  TopicFollower follower(&clock_, &log_, kAt, {.max_records = 1});
  int calls = 0;
  const auto fail = [&](FollowedRecords*) {
    ++calls;
    return Unavailable("full");
  };
  EXPECT_EQ(follower.ReadToEnd(fail).message(), "full");
  EXPECT_EQ(calls, 1);
  const std::atomic<bool> stop{true};
  EXPECT_THAT(follower.ReadToEnd(fail, &stop).message(), HasSubstr("stopped"));
  log_.FailPolls(1, Unavailable("no leader"));
  EXPECT_EQ(follower.ReadToEnd(fail).message(), "no leader");
  EXPECT_EQ(calls, 1);
}

TEST_F(TopicFollowerTest, InterruptEndsTheCurrentOrTheNextPoll) {
  Append("a");
  TopicFollower follower(&clock_, &log_, kAt, {.from = kFromEnd});
  follower.Interrupt();  // not open yet, so there is nothing to interrupt
  ASSERT_TRUE(follower.Open().ok());
  std::thread thread([&] {
    FollowedRecords out;
    EXPECT_TRUE(follower.Poll(Duration::Seconds(3600), &out).ok());
  });
  clock_.AwaitWaiters(1);
  follower.Interrupt();
  thread.join();
  follower.Interrupt();
  FollowedRecords out;
  EXPECT_TRUE(follower.Poll(Duration::Seconds(3600), &out).ok());
}

}  // namespace
}  // namespace pitwall
