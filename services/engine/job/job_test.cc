// Tests for the single-job rules in time-model.md that scenarios with a complete log do not cover
// in isolation.
#include "services/engine/job/job.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns a rule file that evaluates the rules at every step.
std::string EveryStep(std::string_view rules) {
  return Cat("groups:\n- name: g\n  clock: step\n  interval: 1\n  rules:", rules);
}

const std::string kFewRanks = EveryStep(R"rules(
  - {alert: FewRanks, expr: "count(train_step) < 2"}
)rules");

// Runs two ranks through steps 1 to 10. Then rank 1 ends, and rank 0 continues.
std::vector<std::string> DeathOfARank(bool restart) {
  ShardForTest shard(kFewRanks);
  shard.Play("rank-0..1 steps 1..10 @1s");
  if (restart) shard.Restart();
  shard.Play("rank-1 goodbye @10.5s; rank-0 steps 11..15 @11s");
  return shard.Events();
}

TEST(JobTest, StepSeriesOfDeadRankEndEvenAfterRestart) {
  EXPECT_THAT(DeathOfARank(false), Contains("io.pitwall.issue.found FewRanks"));
  EXPECT_EQ(DeathOfARank(true), DeathOfARank(false));
}

TEST(JobTest, LateBatchOfOlderBoot_DoesNotEndAttempt) {
  ShardForTest shard(kFewRanks);
  // The job moved from node a to node b at 100 s. Data spooled on node a arrives after the job has
  // been running on node b for a while.
  shard.Play("rank-0@b(start=100s) steps 1..10 @101s");
  shard.Play("rank-0@a(start=1s) steps 3 @5s arrives 112s");
  EXPECT_EQ(shard.shard().jobs().All()[0]->state().lifecycle.attempt(), 1U);
  const uint64_t zombies = shard.drops(Drop::kZombie);
  shard.Play("rank-0@b steps 13..15 @113s");
  EXPECT_EQ(shard.drops(Drop::kZombie), zombies);
  EXPECT_EQ(shard.shard().jobs().All()[0]->state().lifecycle.attempt(), 1U);
}

TEST(JobTest, AttemptNumbersMayStartAtZero) {
  ShardForTest shard(kFewRanks);
  shard.Play("rank-0(attempt=0) steps 1..10 @1s");
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found FewRanks"));
  shard.Play("owner ticks 8 @20s");  // The process was killed.
  // The second run resumes at step 5. Its steps must not count as late.
  shard.Play("rank-0(boot=two start=20s attempt=1) steps 5..12 @25s");
  EXPECT_EQ(shard.shard().jobs().All()[0]->state().lifecycle.attempt(), 1U);
  EXPECT_EQ(shard.drops(Drop::kLateStep), 0U);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.resolved FewRanks"));
}

// A window over the attempt counts only samples from the current run, despite silence and
// snapshots.
TEST(JobTest, AttemptWindowsEndWithAttempt) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: ManySteps, expr: "count_over_time(train_step[attempt]) > 15"}
)rules");
  shard.Play("rank-0(attempt=1) steps 1..12 @1s");
  shard.Restart();
  shard.Play("owner ticks 8 @20s");  // The process was killed.
  shard.Play("rank-0(boot=two start=20s attempt=2) steps 5..18 @25s");
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.found ManySteps")));
  shard.Restart();
  shard.Play("rank-0 steps 19..21 @39s");
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found ManySteps"));
}

// A client may send any start time. The start of the attempt must leave room for windows before it,
// in the state and in snapshots.
TEST(JobTest, ImpossibleStartTime_DoesNotStopEvaluation) {
  for (const int64_t start : {INT64_MIN, INT64_MIN + 1, kMinPosition}) {
    ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: ManySteps, expr: "count_over_time(train_step[attempt]) > 3"}
)rules");
    for (int s = 1; s <= 5; ++s) {
      shard.Play(Cat("rank-0(start=unix:", start, ") steps ", s, " @", s, "s"));
      shard.Restart();
    }
    EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found ManySteps")) << start;
  }
}

TEST(JobTest, StepJumpDoesNotEvaluateSkippedSteps) {
  ShardForTest shard(kFewRanks);
  shard.Play(R"(rank-0 steps 1..3 @1s
                rank-0 steps 500000000 @4s
                rank-0 steps 1000000000 @5s
                rank-0 steps 1500000000 @6s)");
  EXPECT_LT(shard.shard().counters().evaluations, 100'000U);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found FewRanks"));
}

// Same test with a 60,000-step window. The rule's issue ends when the window is empty.
TEST(JobTest, StepJumpBeyondLongWindow_CostsFewEvaluations) {
  ShardForTest shard(EveryStep(R"rules(
  - {alert: SeenLately, expr: "count_over_time(train_step[60000]) >= 2"}
)rules"));
  shard.Play("rank-0 steps 1..3 @1s");
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found SeenLately"));
  shard.Play("rank-0 steps 100000 @4s; rank-0 steps 1000000 @5s");
  EXPECT_LT(shard.shard().counters().evaluations, 20'000U);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.resolved SeenLately"));
}

TEST(JobTest, StepAboveMaximumIsRejected) {
  ShardForTest shard(kFewRanks);
  shard.Play(Cat("rank-0 steps 1 @1s; rank-0 steps ", kMaxStep + 1, " @2s"));
  EXPECT_EQ(shard.drops(Drop::kMalformed), 2U);  // Bytes of the frame and of the promise.
  ASSERT_EQ(shard.outputs().dead_letters.size(), 1U);
  EXPECT_THAT(shard.outputs().dead_letters[0].reason, HasSubstr("step 2305843009 is not in 0.."));
}

constexpr char kHigh[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: "m > 0.5", for: 2s}
)rules";

TEST(JobTest, FramesWithLateSchemaAreDroppedAsLate) {
  ShardForTest shard(kHigh);
  // Source s becomes idle after the frame without a schema.
  shard.Play(R"(other sends m=1 @1s..10s
                s sends n=1 @2s without-schema
                owner ticks @3s..10s
                s sends n=1 @12s
                other sends m=1 @13s)");
  EXPECT_EQ(shard.drops(Drop::kLate), 1U);
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("status Error"))));
}

TEST(JobTest, NewGroupDoesNotEvaluateTimesBeforeItsStart) {
  ShardForTest shard(R"rules(
groups:
- {name: slow, interval: 1m, rules: [{alert: High, expr: "m > 0.5"}]}
)rules");
  shard.Play("n sends m=0 @1s..90s; o sends other=0 @1s..90s");
  shard.ChangeRules(R"rules(
groups:
- {name: slow, interval: 1m, rules: [{alert: High, expr: "m > 0.5"}]}
- {name: fast, interval: 1s, rules: [{alert: Gone, expr: "absent(other)", for: 20s}]}
)rules");
  shard.Play("n sends m=0 @91s..130s; o sends other=0 @91s..130s");
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.found Gone")));
}

TEST(JobTest, JobWithOnlyWrongClocks_IsEvaluatedAndEnds) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Wrong, expr: "pitwall_source_flagged{reason='clock_ahead'} == 1"}
)rules");
  shard.Play("n(start=1h clock_error=1h) sends m=1 @1s..20s; owner ticks @1s..20s");
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Wrong"));
  shard.Play("owner ticks 2000 @20s");
  EXPECT_TRUE(shard.shard().jobs().All()[0]->state().lifecycle.ended());
}

TEST(JobTest, SeriesOfRemovedRuleEndAtNextTick) {
  constexpr char kReader[] = R"rules(
- {name: reader, interval: 1s, rules: [{alert: Reads, expr: "r > 0"}]}
)rules";
  ShardForTest shard(Cat(R"rules(groups:
- {name: writer, interval: 1s, rules: [{record: r, expr: "m"}]}
)rules",
                         kReader));
  shard.Play("n sends m=1 @1s..5s");
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Reads"));
  shard.ChangeRules(Cat("groups:", kReader));
  shard.Play("n sends m=1 @6s..9s");
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.resolved Reads"));
}

TEST(JobTest, ChangedNeedsAreReportedImmediately) {
  const auto rules = [](std::string_view needs) {
    return Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - {alert: A, expr: m > 5, needs: [",
               needs, "]}\n");
  };
  ShardForTest shard(rules("m"));
  shard.Play("n sends m=1 @1s..5s");
  shard.ChangeRules(rules("m, zz"));
  shard.Play("n sends m=1 @6s..9s");
  EXPECT_THAT(shard.Events().back(), StartsWith("status NoData A"));
  EXPECT_THAT(shard.Events().back(), HasSubstr("zz"));
}

TEST(JobTest, SeriesRecordedByStepRuleIsNotMissing) {
  const auto events = [](bool restart) {
    ShardForTest shard(EveryStep(R"rules(
  - {record: "job:step:max", expr: "max(train_step)"}
  - {alert: Reads, expr: "job:step:max > 100"}
  - {record: "job:loss:max", expr: "max(train_loss)"}
  - {alert: Lacks, expr: "job:loss:max > 100"}
)rules"));
    shard.Play("rank-0 steps 1..15 @1s");
    if (restart) shard.Restart();
    shard.Play("rank-0 steps 16..90 @16s");
    return shard.Events();
  };
  EXPECT_THAT(events(false), ElementsAre("status NoIssuesFound Reads ",
                                         "status NoData Lacks no series of job:loss:max"));
  EXPECT_EQ(events(true), events(false));
}

TEST(JobTest, FailingRecordingRuleHasStatusError) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {record: r, expr: "m", labels: {rank: same}}
  - {alert: Reads, expr: "r > 5"}
)rules");
  shard.Play("rank-0 sends m=1 @1s..15s; rank-1 sends m=1 @1s..8s; rank-1 goodbye @9s");
  EXPECT_THAT(shard.Events(), ElementsAre(HasSubstr("status NoIssuesFound Reads"),
                                          HasSubstr("status Error r vector contains metrics with"),
                                          HasSubstr("status NoIssuesFound r")));
}

TEST(JobTest, PromisesOfWrongClockDoNotAccumulate) {
  ShardForTest shard(kFewRanks);
  shard.Play("n sends m=1 @1s; rank-0(clock_error=2h) steps 1..50 @1s arrives 2s");
  EXPECT_EQ(shard.drops(Drop::kClockAhead),
            150U);  // Bytes of samples, time promises, and step promises.
}

}  // namespace
}  // namespace pitwall::engine
