#include "services/processor/partition/commit_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/io/topics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::processor {
namespace {

using ::testing::SizeIs;

class CommitPipelineTest : public ::testing::Test {
 protected:
  CommitPipelineTest() {
    for (const std::string_view topic : {kTelemetryTopic, kIssuesTopic, kDeadLetterTopic})
      EXPECT_TRUE(log_.EnsureTopic(topic, {}).ok());
    EXPECT_TRUE(commits_.Open(&log_).ok());
    commits_.Begin(0, clock_.Monotonic());
  }
  Status CommitUpTo(int64_t offset) {
    Commit commit = commits_.NewCommit(offset, "metadata");
    commits_.AddOutputs(&commit);
    return commits_.CommitOutputs(&commit);
  }
  void AddDeadLetter(std::string value) {
    commits_.outputs()->dead_letters.push_back({.key = "n", .value = std::move(value)});
  }
  void AddEvent() {
    IssueEvent event;
    event.job = "job";
    commits_.outputs()->Emit(std::move(event));
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  PartitionOptions options_;
  const TopicPartition input_{std::string(kTelemetryTopic), 0};
  ClockTicks ticks_{options_};
  CommitPipeline commits_{input_, &clock_, &ticks_, options_};
};

TEST_F(CommitPipelineTest, EventsAndOffsetAreCommittedTogether) {
  AddEvent();
  EXPECT_TRUE(commits_.MustCommit());
  EXPECT_TRUE(commits_.Pending(5));
  clock_.Advance(kNanosPerSecond);
  ASSERT_TRUE(CommitUpTo(5).ok());
  EXPECT_THAT(log_.Records(kIssuesTopic), SizeIs(1));
  EXPECT_EQ((*log_.Committed(options_.group, input_))->offset, 5);
  EXPECT_FALSE(commits_.MustCommit());
  EXPECT_FALSE(commits_.Pending(5));
  EXPECT_EQ(commits_.committed_offset(), 5);
  EXPECT_EQ(commits_.stats().count, 1U);
  EXPECT_EQ(commits_.last_commit(), clock_.Monotonic());
}

TEST_F(CommitPipelineTest, FailedCommitKeepsOutputs) {
  AddEvent();
  log_.SetWriteFault([](std::string_view) { return Unavailable("broker away"); });
  EXPECT_FALSE(CommitUpTo(5).ok());
  EXPECT_EQ(commits_.committed_offset(), 0);
  EXPECT_EQ(commits_.stats().failed, 1U);
  EXPECT_FALSE(ticks_.Allowed(clock_.Monotonic()));
  log_.SetWriteFault(nullptr);
  ASSERT_TRUE(CommitUpTo(5).ok());
  EXPECT_THAT(log_.Records(kIssuesTopic), SizeIs(1));
}

TEST_F(CommitPipelineTest, RejectedOutputBecomesDeadLetter) {
  AddDeadLetter(std::string(5'000, 'x'));
  log_.SetLargest(2'000);
  ASSERT_TRUE(CommitUpTo(5).ok());
  ASSERT_THAT(log_.Records(kDeadLetterTopic), SizeIs(1));
  EXPECT_THAT(log_.Records(kDeadLetterTopic)[0].value, SizeIs(1'000));
  EXPECT_EQ(commits_.stats().refused_outputs, 1U);
  EXPECT_NE(commits_.refusal(), "");
  EXPECT_TRUE(ticks_.Allowed(clock_.Monotonic()));
}

TEST_F(CommitPipelineTest, ManyDeadLettersForceCommit) {
  for (int i = 0; i < 63; ++i) AddDeadLetter("x");
  EXPECT_TRUE(commits_.Pending(0));
  EXPECT_FALSE(commits_.MustCommit());
  AddDeadLetter("x");
  EXPECT_TRUE(commits_.MustCommit());
}

TEST_F(CommitPipelineTest, OpenDropsOutputs) {
  AddEvent();
  ASSERT_TRUE(commits_.Open(&log_).ok());
  EXPECT_FALSE(commits_.has_events());
}

}  // namespace
}  // namespace pitwall::processor
