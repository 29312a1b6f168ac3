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
  Play("rank-0 lost @10s; rank-1 lost @11s; node beats @400s");
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
  Play("rank-0 lost @10s; rank-1 lost @11s; node beats @20s");
  Stop(21, "stopped");
  Play("node beats @30s");
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
  Play("rank-0 lost @10s; rank-1 lost @11s");
  Stop(21, "stopped", "rule p/g/LossNotFinite");
  Play("node beats @30s");
  EXPECT_THAT(ends(), ElementsAre("stopped by rule p/g/LossNotFinite",
                                  "stopped by rule p/g/LossNotFinite"));
}

TEST_F(JobEnds, DeathLongAfterAnnouncedEndIsDeath) {
  Boot("one", 1);
  Stop(9, kStopping);
  Play(
      "rank-0 beats @400s; rank-1 beats @400s; rank-0 lost @410s; rank-1 lost @411s; node beats "
      "@420s");
  EXPECT_EQ(Changes().back(), "411 1 attempt_ended died");
}

TEST_F(JobEnds, RestartWithinSameWatermarkJump_DoesNotEndJob) {
  Boot("one", 1);
  Play("node beats @2s; rank-0 lost @10s; rank-1 lost @11s");
  Boot("two", 100);
  Play("rank-0..1 beats @400s; node beats @400s");
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "10 1 rank_lost died 0@node-0", "11 1 rank_lost died 1@node-1",
                                     "11 1 attempt_ended died", "100 2 attempt_began "));
}

TEST_F(JobEnds, SilentRankIsNotDead_GoodbyeEndsAttempt) {
  Boot("one", 1);
  Play("rank-0 lost @10s");
  Ticks(300);  // Rank 1 becomes idle.
  EXPECT_EQ(Changes().back(), "10 1 rank_lost died 0@node-0");
  Play("rank-1 goodbye @320s");
  Ticks(2);
  EXPECT_EQ(Changes().back(), "320 1 attempt_ended died");
}

TEST_F(JobEnds, GoodbyesOfAllRanksAreNotDeath) {
  Boot("one", 1);
  Play("rank-0..1 goodbye @10s");
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
  Play("rank-0 lost @4000s; rank-1 lost @4000s; rank-1 launcher-gone @4001s");
  Ticks(200);
  EXPECT_EQ(Changes().size(), changes) << Changes().back();
}

TEST_F(JobEnds, WaitingJobReportsRemainingGrace) {
  Boot("one", 1);
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), std::nullopt);
  Play("rank-0 lost @10s; rank-1 lost @11s; node beats @34s");
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), Duration::Seconds(97));
  shard_.Restart();
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), Duration::Seconds(97));
  Play("node beats @400s");
  EXPECT_EQ(shard_.shard().jobs().Find("job")->state().lifecycle.OverIn(), std::nullopt);
}

TEST_F(JobEnds, JobEndsAfterLaunchersOfAllNodes) {
  Boot("one", 1);
  Play("rank-0 lost @10s; rank-0 launcher-gone @11s; rank-1 lost @12s");
  Ticks(3);
  EXPECT_EQ(Changes().back(), "12 1 attempt_ended died");
  Play("rank-1 launcher-gone @20s");
  Ticks(10);
  EXPECT_EQ(Changes().back(), "20 1 ended died");
}

TEST_F(JobEnds, ExplicitAttemptNumberSurvivesRestart) {
  attempt_ = 7;
  Boot("one", 1);
  Play("rank-0 lost @10s; rank-1 lost @10s");
  Ticks(2);
  Boot("two", 50);
  Play("rank-0..1 beats @60s");
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 7 attempt_began ",
                                     "10 7 rank_lost died 0@node-0", "10 7 rank_lost died 1@node-1",
                                     "10 7 attempt_ended died", "50 7 attempt_began "));
}

TEST_F(JobEnds, RankFasterThanRankZeroIsNotZombie) {
  Boot("one", 1);
  Play("rank-0..1 lost @10s");
  Ticks(10);
  // Rank 0 also started, but later.
  Play(R"(rank-1(boot=two start=19s) steps 3 @25s
          rank-0(boot=two start=19.5s) beats @26s
          rank-1 steps 3 @27s
          rank-0 beats @28s)");
  EXPECT_EQ(Changes().back(), "25 2 attempt_began ");
  EXPECT_EQ(shard_.drops(Drop::kZombie), 0U);
}

TEST_F(JobEnds, TombstoneIgnoresResentDataOfDeadRanks) {
  Boot("one", 1);
  Play("rank-0 lost @10s; rank-1 lost @10s");
  Ticks(130);
  EXPECT_EQ(Changes().back(), "130 1 ended died");
  shard_.Restart();
  Play("rank-1 beats @500s");  // A resent batch with a different promise.
  Play("node beats @500s");    // A node of a declared job, not a rank.
  EXPECT_TRUE(shard_.shard().jobs().All()[0]->state().lifecycle.ended());
  Boot("two", 600);
  Play("rank-0..1 beats @610s");
  EXPECT_EQ(Changes().back(), "600 2 attempt_began ");
}

TEST_F(JobEnds, CompletedActionEndsJobPermanently) {
  Boot("one", 1);
  Stop(5.5, "stopped");
  Play("rank-0..1 beats @6s");
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "5 1 attempt_ended stopped", "5 1 ended stopped"));
  Boot("two", 10);
  EXPECT_TRUE(shard_.shard().jobs().All()[0]->state().lifecycle.ended());
  EXPECT_EQ(shard_.drops(Drop::kJobEnded), 2U);
}

TEST_F(JobEnds, LateCompletionOfActionIsReported) {
  Boot("one", 1);
  Play("rank-0..1 lost @10s; rank-0..1 launcher-gone @10s");
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
  Play("rank-0..1 beats @10s");
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
      std::vector<std::string> ChangesAndIds(bool other, int restart) {
        int n = 0;
        const auto restarts = [&] {
          if (n++ == restart) shard_.Restart();
        };
        Boot("one", 1);
        restarts();
        for (int i = 0; i < 2; ++i) {
          const int64_t rank = other ? 1 - i : i;
          Play(Cat("rank-", rank, " lost @", rank == 0 ? "10s" : "12s"));
          restarts();
          Play(Cat("rank-", rank, " launcher-gone @", rank == 0 ? "13s" : "12.5s"));
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
    return player.ChangesAndIds(swapped, restart_at);
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
  Play("rank-0 lost @10s; rank-1 lost @10.1s");
  Stop(10.2, "stopped");
  Play("node beats @20s");
  EXPECT_EQ(Changes().back(), "10 1 ended stopped");
  const auto ended = shard_.outputs().events.back();
  EXPECT_EQ(ended.time.ns(), ShardForTest::At(10.5));
}

// Neither the platform nor the executor reports a cancellation. The JobCancelled issue is based on
// the two SIGTERMs.
TEST_F(JobEnds, AllRanksEndedBySigterm_IsCancelled) {
  Boot("one", 1);
  Play("rank-0 lost signal=15 @10s; rank-1 lost signal=15 @10.2s");
  EXPECT_EQ(Changes().back(), "10 1 attempt_ended cancelled");
  Play("rank-0..1 launcher-gone @10.4s; node beats @20s");
  EXPECT_EQ(Changes().back(), "12 1 ended cancelled");
}

TEST_F(JobEnds, SigtermAfterDeathIsTeardown) {
  Boot("one", 1);
  Play("rank-0 lost signal=9 @10s; rank-1 lost signal=15 @10.2s");
  EXPECT_EQ(Changes().back(), "10 1 attempt_ended died");
}

TEST_F(JobEnds, SingleSigtermIsDeath) {
  Boot("one", 1);
  Play("rank-0 lost signal=15 @10s; rank-1 lost signal=9 @10.2s");
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
  Play("rank-0..1 beats @5s");
  Play(Cat("rank-0 lost signal=", GetParam(), " @10s; rank-1 lost signal=", GetParam(), " @10.2s"));
  Play("node beats @10.9s");
  EXPECT_THAT(shard_.Events(),
              ElementsAre("io.pitwall.issue.found Here", "status IssuesFound Here ",
                          "io.pitwall.issue.resolved Here"));
}

INSTANTIATE_TEST_SUITE_P(Signals, EndsWithOpenIssue, ::testing::Values(9, 15));

}  // namespace
}  // namespace pitwall::engine
