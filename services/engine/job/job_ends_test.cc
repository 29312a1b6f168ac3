// Tests for ends of ranks, attempts, and jobs that scenarios with a complete log do not cover in
// isolation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/time.h"
#include "services/engine/testing/job_ends.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

TEST_F(JobEnds, WatermarkJumpsPastGrace_JobEndsWhenGraceExpires) {
  Boot("one", 1);
  Lose(0, 10);
  Lose(1, 11);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 400);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "10 1 rank_lost died 0@node-0", "11 1 rank_lost died 1@node-1",
                                     "11 1 attempt_ended died", "131 1 ended died"));
}

// A process may react to the executor's SIGTERM with an exception, for example. The reaction is not
// a separate death, even if there is a tick between the process end and the record that completes
// the action.
TEST_F(JobEnds, AnnouncedEndIsNotDeath) {
  Boot("one", 1);
  Stop(9, kStopping);
  Lose(0, 10);
  Lose(1, 11);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 20);
  Stop(21, "stopped");
  shard_.Feed(node, 30);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "10 1 rank_lost died 0@node-0", "11 1 rank_lost died 1@node-1",
                                     "11 1 attempt_ended stopped", "21 1 ended stopped"));
}

TEST_F(JobEnds, EndOfStoppedJobNamesRule) {
  const auto ends = [&] {
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.job_change == JobChange::kAttemptEnded || e.job_change == JobChange::kEnded)
        out.push_back(JobEndText(e.end_detail, e.summary));
    }
    return out;
  };
  Boot("one", 1);
  Stop(9, kStopping, "rule p/g/LossNotFinite");
  Lose(0, 10);
  Lose(1, 11);
  Stop(21, "stopped", "rule p/g/LossNotFinite");
  Batch node;
  node.source = "node";
  shard_.Feed(node, 30);
  EXPECT_THAT(ends(), ElementsAre("stopped by rule p/g/LossNotFinite",
                                  "stopped by rule p/g/LossNotFinite"));
}

TEST_F(JobEnds, DeathLongAfterAnnouncedEndIsDeath) {
  Boot("one", 1);
  Stop(9, kStopping);
  Send(0, 400);
  Send(1, 400);
  Lose(0, 410);
  Lose(1, 411);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 420);
  EXPECT_EQ(Changes().back(), "411 1 attempt_ended died");
}

TEST_F(JobEnds, RestartWithinSameWatermarkJump_DoesNotEndJob) {
  Boot("one", 1);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 2);
  Lose(0, 10);
  Lose(1, 11);
  Boot("two", 100);
  for (int64_t rank : {0, 1}) Send(rank, 400);
  shard_.Feed(node, 400);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "10 1 rank_lost died 0@node-0", "11 1 rank_lost died 1@node-1",
                                     "11 1 attempt_ended died", "100 2 attempt_began "));
}

TEST_F(JobEnds, SilentRankIsNotDead_GoodbyeEndsAttempt) {
  Boot("one", 1);
  Lose(0, 10);
  Ticks(300);  // Rank 1 becomes idle.
  EXPECT_EQ(Changes().back(), "10 1 rank_lost died 0@node-0");
  Send(1, 320, std::nullopt, /*goodbye=*/true);
  Ticks(2);
  EXPECT_EQ(Changes().back(), "320 1 attempt_ended died");
}

TEST_F(JobEnds, GoodbyesOfAllRanksAreNotDeath) {
  Boot("one", 1);
  for (int64_t rank : {0, 1}) Send(rank, 10, std::nullopt, /*goodbye=*/true);
  Ticks(300);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began "));
}

// A collector that was disconnected for a long time reports dead ranks after the job has ended due
// to silence.
TEST_F(JobEnds, LateDeathReport_DoesNotResumeJob) {
  Boot("one", 1);
  Ticks(1900);
  ASSERT_THAT(Changes().back(), ::testing::EndsWith("ended silent"));
  const size_t changes = Changes().size();
  Lose(0, 4000);
  Lose(1, 4000);
  Send(1, 4001, JobEvent::Kind::kLauncherGone);
  Ticks(200);
  EXPECT_EQ(Changes().size(), changes) << Changes().back();
}

TEST_F(JobEnds, WaitingJobReportsRemainingGrace) {
  Boot("one", 1);
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), std::nullopt);
  Lose(0, 10);
  Lose(1, 11);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 34);
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), Duration::Seconds(97));
  shard_.Restart();
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), Duration::Seconds(97));
  shard_.Feed(node, 400);
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), std::nullopt);
}

TEST_F(JobEnds, JobEndsAfterLaunchersOfAllNodes) {
  Boot("one", 1);
  Lose(0, 10);
  Send(0, 11, JobEvent::Kind::kLauncherGone);
  Lose(1, 12);
  Ticks(3);
  EXPECT_EQ(Changes().back(), "12 1 attempt_ended died");
  Send(1, 20, JobEvent::Kind::kLauncherGone);
  Ticks(10);
  EXPECT_EQ(Changes().back(), "20 1 ended died");
}

TEST_F(JobEnds, ExplicitAttemptNumberSurvivesRestart) {
  attempt_ = 7;
  Boot("one", 1);
  Lose(0, 10);
  Lose(1, 10);
  Ticks(2);
  Boot("two", 50);
  for (int64_t rank : {0, 1}) Send(rank, 60);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 7 attempt_began ",
                                     "10 7 rank_lost died 0@node-0", "10 7 rank_lost died 1@node-1",
                                     "10 7 attempt_ended died", "50 7 attempt_began "));
}

TEST_F(JobEnds, RankFasterThanRankZeroIsNotZombie) {
  const Schema schema =
      SchemaOf({{Labels({{kMetricName, "train_step"}, {"rank", "1"}}), SeriesKind::kGauge}});
  const auto step = [&](double at) {
    const int64_t times[] = {ShardForTest::At(at)};
    const int64_t steps[] = {3};
    const double values[] = {1};
    Batch batch;
    batch.source = "rank-1";
    batch.boot_id = boot_;
    batch.info.kind = SourceKind::kRank;
    batch.info.node = "node-1";
    batch.info.rank = 1;
    batch.info.start = EventTime::FromNs(ShardForTest::At(start_));
    batch.schemas.push_back(schema);
    batch.frames.push_back({.schema_id = schema.id,
                            .times = times,
                            .steps = steps,
                            .mode = "train",
                            .values = values});
    shard_.Feed(batch, at);
  };
  Boot("one", 1);
  for (int64_t rank : {0, 1}) Lose(rank, 10);
  Ticks(10);
  boot_ = "two";
  start_ = 19;
  step(25);
  start_ = 19.5;  // Rank 0 also started, but later.
  Send(0, 26);
  start_ = 19;
  step(27);
  Send(0, 28);
  EXPECT_EQ(Changes().back(), "25 2 attempt_began ");
  EXPECT_EQ(shard_.drops(Drop::kZombie), 0U);
}

TEST_F(JobEnds, TombstoneIgnoresResentDataOfDeadRanks) {
  Boot("one", 1);
  Lose(0, 10);
  Lose(1, 10);
  Ticks(130);
  EXPECT_EQ(Changes().back(), "130 1 ended died");
  shard_.Restart();
  Send(1, 500);  // A resent batch with a different promise.
  Batch node;
  node.source = "node";
  shard_.Feed(node, 500);  // A node of a declared job, not a rank.
  EXPECT_TRUE(shard_.shard().jobs().All()[0]->state().lifecycle.ended());
  Boot("two", 600);
  for (int64_t rank : {0, 1}) Send(rank, 610);
  EXPECT_EQ(Changes().back(), "600 2 attempt_began ");
}

TEST_F(JobEnds, CompletedActionEndsJobPermanently) {
  Boot("one", 1);
  Stop(5.5, "stopped");
  for (int64_t rank : {0, 1}) Send(rank, 6);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "5 1 attempt_ended stopped", "5 1 ended stopped"));
  Boot("two", 10);
  EXPECT_TRUE(shard_.shard().jobs().All()[0]->state().lifecycle.ended());
  EXPECT_EQ(shard_.drops(Drop::kJobEnded), 2U);
}

TEST_F(JobEnds, LateCompletionOfActionIsReported) {
  Boot("one", 1);
  for (int64_t rank : {0, 1}) Lose(rank, 10);
  for (int64_t rank : {0, 1}) Send(rank, 10, JobEvent::Kind::kLauncherGone);
  Ticks(3);  // The rules see the deaths before the job ends.
  EXPECT_EQ(Changes().back(), "12 1 ended died");
  Stop(10.5, "stopped");
  EXPECT_EQ(Changes().back(), "12 1 ended stopped");
  shard_.Restart();
  Boot("two", 20);
  EXPECT_TRUE(shard_.shard().jobs().All()[0]->state().lifecycle.ended());
}

TEST_F(JobEnds, NodeCannotReportLossOfRankOnAnotherNode) {
  Boot("one", 1);
  Batch impostor;
  impostor.source = "node@evil";
  impostor.info.node = "evil";
  JobEvent lost;
  lost.kind = JobEvent::Kind::kRankLost;
  lost.time = EventTime::FromNs(ShardForTest::At(2));
  lost.rank_lost.source = "rank-0";
  lost.rank_lost.boot_id = "one";
  impostor.events.push_back(lost);
  shard_.Feed(impostor, 2);
  for (int64_t rank : {0, 1}) Send(rank, 10);
  shard_.Feed({.source = "node@evil"}, 10);
  EXPECT_EQ(Changes().size(), 2U);
  EXPECT_EQ(shard_.drops(Drop::kMalformed), 1U);
}

// Neither the arrival order nor a processor restart may change the events.
TEST(JobEndsOrder, ArrivalOrderAndRestartsDoNotChangeEvents) {
  const auto play = [](bool swapped, int restart_at) {
    class Player : public JobEnds {
     public:
      void TestBody() override {}
      std::vector<std::string> Play(bool other, int restart) {
        int n = 0;
        const auto restarts = [&] {
          if (n++ == restart) shard_.Restart();
        };
        Boot("one", 1);
        restarts();
        for (int i = 0; i < 2; ++i) {
          const int64_t rank = other ? 1 - i : i;
          Lose(rank, rank == 0 ? 10 : 12);
          restarts();
          Send(rank, rank == 0 ? 13 : 12.5, JobEvent::Kind::kLauncherGone);
          restarts();
        }
        for (int i = 0; i < 5; ++i) {
          Ticks(1);
          restarts();
        }
        std::vector<std::string> out = Changes();
        for (const IssueEvent& e : shard_.outputs().events) out.push_back(e.id);
        return out;
      }
    } player;
    return player.Play(swapped, restart_at);
  };
  const std::vector<std::string> straight = play(false, -1);
  EXPECT_EQ(straight[5], "13 1 ended died");
  EXPECT_EQ(play(true, -1), straight);
  for (int at = 0; at < 10; ++at) EXPECT_EQ(play(at % 2 == 1, at), straight) << at;
}

// The executor finishes when the last process has ended, before the tick at which rules see the
// death.
TEST_F(JobEnds, RulesSeeDeathJustBeforeEnd) {
  Boot("one", 1);
  Stop(9, kStopping);
  Lose(0, 10);
  Lose(1, 10.1);
  Stop(10.2, "stopped");
  Batch node;
  node.source = "node";
  shard_.Feed(node, 20);
  EXPECT_EQ(Changes().back(), "10 1 ended stopped");
  const auto ended = shard_.outputs().events.back();
  EXPECT_EQ(ended.time.ns(), ShardForTest::At(10.5));
}

// Neither the platform nor the executor reports a cancellation. The JobCancelled issue is based on
// the two SIGTERMs.
TEST_F(JobEnds, AllRanksEndedBySigterm_IsCancelled) {
  Boot("one", 1);
  Lose(0, 10, 15);
  Lose(1, 10.2, 15);
  EXPECT_EQ(Changes().back(), "10 1 attempt_ended cancelled");
  for (int64_t rank : {0, 1}) Send(rank, 10.4, JobEvent::Kind::kLauncherGone);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 20);
  EXPECT_EQ(Changes().back(), "12 1 ended cancelled");
}

TEST_F(JobEnds, SigtermAfterDeathIsTeardown) {
  Boot("one", 1);
  Lose(0, 10, 9);
  Lose(1, 10.2, 15);
  EXPECT_EQ(Changes().back(), "10 1 attempt_ended died");
}

TEST_F(JobEnds, SingleSigtermIsDeath) {
  Boot("one", 1);
  Lose(0, 10, 15);
  Lose(1, 10.2, 9);
  EXPECT_EQ(Changes().back(), "10 1 attempt_ended died");
}

class EndsWithOpenIssue : public JobEnds, public ::testing::WithParamInterface<int32_t> {
 protected:
  EndsWithOpenIssue()
      : JobEnds(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Here, expr: "pitwall_job_ranks_lost >= 0", scope: attempt}
)rules") {}
};

// The end of a job is not a verdict, so the rule's status stays IssuesFound.
TEST_P(EndsWithOpenIssue, JobEndKeepsRuleStatus) {
  Boot("one", 1);
  for (int64_t rank : {0, 1}) Send(rank, 5);
  Lose(0, 10, GetParam());
  Lose(1, 10.2, GetParam());
  Batch node;
  node.source = "node";
  shard_.Feed(node, 10.9);
  EXPECT_THAT(shard_.Events(),
              ElementsAre("io.pitwall.issue.found Here", "status IssuesFound Here ",
                          "io.pitwall.issue.resolved Here"));
}

INSTANTIATE_TEST_SUITE_P(Signals, EndsWithOpenIssue, ::testing::Values(9, 15));

}  // namespace
}  // namespace pitwall::engine
