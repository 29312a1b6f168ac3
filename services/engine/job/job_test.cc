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

Schema MetricSchema(std::string_view metric, int64_t rank = -1) {
  Schema schema;
  Labels labels({{kMetricName, metric}});
  if (rank >= 0) labels = labels.With("rank", Cat(rank));
  schema.series.push_back({labels, SeriesKind::kGauge});
  schema.id = SchemaId(0, schema.series);
  return schema;
}

// Fields of one batch from a rank or a node.
struct SourceBatch {
  std::string source = "rank-0";
  int64_t rank = 0;  // -1 for a node
  std::string boot = "boot";
  double start = 0;
  std::optional<int64_t> start_ns;  // replaces `start`
  std::optional<uint64_t> attempt;
  double at = 0;           // time of the sample and of the promise
  int64_t step = kNoStep;  // step promise in the same batch
  std::string metric = "train_step";
  double value = 1;
  bool sample = true;
  bool schema = true;
  bool goodbye = false;
};

void Send(ShardForTest* shard, const SourceBatch& sent) {
  const Schema schema = MetricSchema(sent.metric, sent.rank);
  const int64_t times[] = {ShardForTest::At(sent.at)};
  const int64_t steps[] = {sent.step};
  const double values[] = {sent.value};
  Batch batch;
  batch.source = sent.source;
  batch.boot_id = sent.boot;
  batch.info.kind = sent.rank < 0 ? SourceKind::kNode : SourceKind::kRank;
  batch.info.rank = sent.rank;
  batch.info.start = EventTime::FromNs(sent.start_ns.value_or(ShardForTest::At(sent.start)));
  batch.info.attempt = sent.attempt;
  batch.goodbye = sent.goodbye;
  if (sent.schema) batch.schemas.push_back(schema);
  if (sent.sample)
    batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
  if (sent.step != kNoStep) {
    batch.info.step_modes = {"train"};
    batch.step_promises.push_back({"train", sent.step});
    if (sent.sample) {
      batch.frames.back().steps = steps;
      batch.frames.back().mode = "train";
    }
  }
  shard->Feed(batch, sent.at);
}

constexpr char kFewRanks[] = R"rules(
groups:
- name: g
  clock: step
  interval: 1
  rules:
  - {alert: FewRanks, expr: "count(train_step) < 2"}
)rules";

// Runs two ranks through steps 1 to 10. Then rank 1 ends, and rank 0 continues.
std::vector<std::string> DeathOfARank(bool restart) {
  ShardForTest shard(kFewRanks);
  for (int s = 1; s <= 10; ++s) {
    Send(&shard, {.at = s * 1.0, .step = s});
    Send(&shard, {.source = "rank-1", .rank = 1, .at = s * 1.0, .step = s});
  }
  if (restart) shard.Restart();
  Send(&shard, {.source = "rank-1", .rank = 1, .at = 10.5, .sample = false, .goodbye = true});
  for (int s = 11; s <= 15; ++s) Send(&shard, {.at = s * 1.0, .step = s});
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
  for (int s = 1; s <= 10; ++s)
    Send(&shard, {.source = "rank-0@b", .start = 100, .at = 100.0 + s, .step = s});
  shard.SetAppendTime(112);
  Send(&shard, {.source = "rank-0@a", .start = 1, .at = 5, .step = 3});
  EXPECT_EQ(shard.shard().jobs().All()[0]->state().lifecycle.attempt(), 1U);
  shard.SetAppendTime(-1);
  const uint64_t zombies = shard.drops(Drop::kZombie);
  for (int s = 13; s <= 15; ++s)
    Send(&shard, {.source = "rank-0@b", .start = 100, .at = 100.0 + s, .step = s});
  EXPECT_EQ(shard.drops(Drop::kZombie), zombies);
  EXPECT_EQ(shard.shard().jobs().All()[0]->state().lifecycle.attempt(), 1U);
}

TEST(JobTest, AttemptNumbersMayStartAtZero) {
  ShardForTest shard(kFewRanks);
  for (int s = 1; s <= 10; ++s) Send(&shard, {.attempt = 0, .at = s * 1.0, .step = s});
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found FewRanks"));
  shard.SetAppendTime(20);
  for (int t = 0; t < 8; ++t) shard.Tick();  // The process was killed.
  shard.SetAppendTime(-1);
  // The second run resumes at step 5. Its steps must not count as late.
  for (int s = 5; s <= 12; ++s)
    Send(&shard, {.boot = "two", .start = 20, .attempt = 1, .at = 20.0 + s, .step = s});
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
  for (int s = 1; s <= 12; ++s) Send(&shard, {.attempt = 1, .at = s * 1.0, .step = s});
  shard.Restart();
  shard.SetAppendTime(20);
  for (int t = 0; t < 8; ++t) shard.Tick();  // The process was killed.
  shard.SetAppendTime(-1);
  for (int s = 5; s <= 18; ++s)
    Send(&shard, {.boot = "two", .start = 20, .attempt = 2, .at = 20.0 + s, .step = s});
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.found ManySteps")));
  shard.Restart();
  for (int s = 19; s <= 21; ++s)
    Send(&shard, {.boot = "two", .start = 20, .attempt = 2, .at = 20.0 + s, .step = s});
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
      Send(&shard, {.start_ns = start, .at = s * 1.0, .step = s});
      shard.Restart();
    }
    EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found ManySteps")) << start;
  }
}

TEST(JobTest, StepJumpDoesNotEvaluateSkippedSteps) {
  ShardForTest shard(kFewRanks);
  for (int s = 1; s <= 3; ++s) Send(&shard, {.at = s * 1.0, .step = s});
  for (int i = 1; i <= 3; ++i) Send(&shard, {.at = 3.0 + i, .step = i * 500'000'000});
  EXPECT_LT(shard.shard().counters().evaluations, 100'000U);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found FewRanks"));
}

// Same test with a 60,000-step window. The rule's issue ends when the window is empty.
TEST(JobTest, StepJumpBeyondLongWindow_CostsFewEvaluations) {
  ShardForTest shard(R"rules(
groups:
- name: g
  clock: step
  interval: 1
  rules:
  - {alert: SeenLately, expr: "count_over_time(train_step[60000]) >= 2"}
)rules");
  for (int s = 1; s <= 3; ++s) Send(&shard, {.at = s * 1.0, .step = s});
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found SeenLately"));
  Send(&shard, {.at = 4, .step = 100'000});
  Send(&shard, {.at = 5, .step = 1'000'000});
  EXPECT_LT(shard.shard().counters().evaluations, 20'000U);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.resolved SeenLately"));
}

TEST(JobTest, StepAboveMaximumIsRejected) {
  ShardForTest shard(kFewRanks);
  Send(&shard, {.at = 1, .step = 1});
  Send(&shard, {.at = 2, .step = kMaxStep + 1});
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
  Send(&shard, {.source = "other", .rank = -1, .at = 1, .metric = "m"});
  Send(&shard, {.source = "s", .rank = -1, .at = 2, .metric = "n", .schema = false});
  shard.SetAppendTime(3);
  for (int i = 0; i < 8; ++i) {  // Source s becomes idle.
    Send(&shard, {.source = "other", .rank = -1, .at = 3.0 + i, .metric = "m"});
    shard.Tick();
  }
  Send(&shard, {.source = "s", .rank = -1, .at = 12, .metric = "n"});
  Send(&shard, {.source = "other", .rank = -1, .at = 13, .metric = "m"});
  EXPECT_EQ(shard.drops(Drop::kLate), 1U);
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("status Error"))));
}

TEST(JobTest, NewGroupDoesNotEvaluateTimesBeforeItsStart) {
  ShardForTest shard(R"rules(
groups:
- {name: slow, interval: 1m, rules: [{alert: High, expr: "m > 0.5"}]}
)rules");
  for (int t = 1; t <= 90; ++t) {
    Send(&shard, {.source = "n", .rank = -1, .at = t * 1.0, .metric = "m", .value = 0});
    Send(&shard, {.source = "o", .rank = -1, .at = t * 1.0, .metric = "other", .value = 0});
  }
  shard.ChangeRules(R"rules(
groups:
- {name: slow, interval: 1m, rules: [{alert: High, expr: "m > 0.5"}]}
- {name: fast, interval: 1s, rules: [{alert: Gone, expr: "absent(other)", for: 20s}]}
)rules");
  for (int t = 91; t <= 130; ++t) {
    Send(&shard, {.source = "n", .rank = -1, .at = t * 1.0, .metric = "m", .value = 0});
    Send(&shard, {.source = "o", .rank = -1, .at = t * 1.0, .metric = "other", .value = 0});
  }
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
  for (int t = 1; t <= 20; ++t) {
    shard.SetAppendTime(t);
    Send(&shard, {.source = "n", .rank = -1, .start = 3600, .at = 3600.0 + t, .metric = "m"});
    shard.Tick();
  }
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Wrong"));
  for (int t = 0; t < 2000; ++t) shard.Tick();
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
  for (int t = 1; t <= 5; ++t)
    Send(&shard, {.source = "n", .rank = -1, .at = t * 1.0, .metric = "m"});
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Reads"));
  shard.ChangeRules(Cat("groups:", kReader));
  for (int t = 6; t <= 9; ++t)
    Send(&shard, {.source = "n", .rank = -1, .at = t * 1.0, .metric = "m"});
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.resolved Reads"));
}

TEST(JobTest, ChangedNeedsAreReportedImmediately) {
  const auto rules = [](std::string_view needs) {
    return Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - {alert: A, expr: m > 5, needs: [",
               needs, "]}\n");
  };
  ShardForTest shard(rules("m"));
  for (int t = 1; t <= 5; ++t)
    Send(&shard, {.source = "n", .rank = -1, .at = t * 1.0, .metric = "m"});
  shard.ChangeRules(rules("m, zz"));
  for (int t = 6; t <= 9; ++t)
    Send(&shard, {.source = "n", .rank = -1, .at = t * 1.0, .metric = "m"});
  EXPECT_THAT(shard.Events().back(), StartsWith("status NoData A"));
  EXPECT_THAT(shard.Events().back(), HasSubstr("zz"));
}

TEST(JobTest, SeriesRecordedByStepRuleIsNotMissing) {
  const auto events = [](bool restart) {
    ShardForTest shard(R"rules(
groups:
- name: g
  clock: step
  interval: 1
  rules:
  - {record: "job:step:max", expr: "max(train_step)"}
  - {alert: Reads, expr: "job:step:max > 100"}
  - {record: "job:loss:max", expr: "max(train_loss)"}
  - {alert: Lacks, expr: "job:loss:max > 100"}
)rules");
    for (int s = 1; s <= 90; ++s) {
      Send(&shard, {.at = s * 1.0, .step = s});
      if (restart && s == 15) shard.Restart();
    }
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
  const auto both = [&](int t, double value) {
    Send(&shard, {.source = "a", .rank = 0, .at = t * 1.0, .metric = "m", .value = value});
    if (t < 10)
      Send(&shard, {.source = "b", .rank = 1, .at = t * 1.0, .metric = "m", .goodbye = t == 9});
  };
  for (int t = 1; t <= 15; ++t) both(t, 1);
  EXPECT_THAT(shard.Events(), ElementsAre(HasSubstr("status NoIssuesFound Reads"),
                                          HasSubstr("status Error r vector contains metrics with"),
                                          HasSubstr("status NoIssuesFound r")));
}

TEST(JobTest, PromisesOfWrongClockDoNotAccumulate) {
  ShardForTest shard(kFewRanks);
  Send(&shard, {.source = "n", .rank = -1, .at = 1, .metric = "m"});
  shard.SetAppendTime(2);
  for (int s = 1; s <= 50; ++s) Send(&shard, {.at = 7200.0 + s, .step = s});
  EXPECT_EQ(shard.drops(Drop::kClockAhead),
            150U);  // Bytes of samples, time promises, and step promises.
}

}  // namespace
}  // namespace pitwall::engine
