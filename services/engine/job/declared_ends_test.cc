// Tests for job ends reported by the platform.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/base/time.h"
#include "services/engine/testing/job_ends.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

// Job on two nodes, declared by Slurm's prolog.
class DeclaredEnds : public JobEnds {
 public:
  using JobEnds::shard_;

  void TestBody() override {}
  DeclaredEnds() {
    owner_ = "uid:1000";
    Batch node = Node();
    JobEvent started;
    started.kind = JobEvent::Kind::kStarted;
    started.time = EventTime::FromNs(ShardForTest::At(1));
    started.reference.platform = "slurm";
    node.events.push_back(started);
    shard_.Feed(node, 1);
    Boot("one", 1);
  }
  static Batch Node() {
    Batch node;
    node.source = "node";
    node.boot_id = "n";
    node.owner = "uid:1000";
    node.owner_declared = true;
    return node;
  }
  void PlatformEnds(double at, JobEvent::Kind kind, std::string reason, PlatformEnd end) {
    Batch node = Node();
    JobEvent event;
    event.kind = kind;
    event.time = EventTime::FromNs(ShardForTest::At(at));
    event.reason = std::move(reason);
    AddPlatformEnd(end, &event);
    node.events.push_back(event);
    shard_.Feed(node, at);
  }
  void LoseAll() { Play("rank-0 lost @10s; rank-1 lost @10.2s; rank-0..1 launcher-gone @10.4s"); }
  std::vector<std::string> Last(size_t n) const {
    const std::vector<std::string> all = Changes();
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(n, all.size())), all.end()};
  }
};

TEST_F(DeclaredEnds, CancelledJobIsNotReportedAsDied) {
  Play("rank-0 lost @10s; rank-1 lost @10.2s");
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "time limit"});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(2), ElementsAre("11 1 attempt_ended cancelled", "11 1 ended cancelled"))
      << "rules get a tick with the cause of death";
  EXPECT_EQ(shard_.outputs().events.back().summary, "time limit");
}

TEST_F(DeclaredEnds, PlatformFailure_RanksLost_IsDeath) {
  Play("rank-0 lost @10s; rank-1 goodbye @10.1s");
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "failed", {.signal = {}, .exit_code = 3});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(2), ElementsAre("11 1 attempt_ended died", "11 1 ended died"));
  EXPECT_EQ(shard_.outputs().events.back().summary, "exit code 3");
}

TEST_F(DeclaredEnds, ExecutorCancellation_IsReportedAsStop) {
  Stop(9, kStopping);
  Play("rank-0 lost @10s; rank-1 lost @10.2s");
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "cancelled"});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(1), ElementsAre("10 1 ended stopped")) << "a stop does not need a report";
}

TEST_F(DeclaredEnds, RequeuedJobContinuesWithNextAttempt) {
  Play("rank-0 lost @10s; rank-1 lost @10.2s");
  PlatformEnds(10.5, JobEvent::Kind::kNotice, std::string(kPlatformEnd),
               {.signal = {}, .exit_code = 0, .on_purpose = true, .cause = "requeued"});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(1), ElementsAre("11 1 attempt_ended cancelled"));
  Boot("two", 30);
  shard_.Feed(Node(), 31);
  EXPECT_THAT(Last(1), ElementsAre("30 2 attempt_began "));
}

// A user terminated the processes of the job, so Slurm reports only an exit code.
TEST_F(DeclaredEnds, PlatformFailure_SigtermToAllRanks_IsCancellation) {
  Play("rank-0 lost signal=15 @10s; rank-1 lost signal=15 @10.2s");
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "failed", {.signal = {}, .exit_code = 143});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(2), ElementsAre("11 1 attempt_ended cancelled", "11 1 ended cancelled"));
}

// A user notices that a rank died and cancels the remaining ranks.
TEST_F(DeclaredEnds, ReportLongAfterFirstDeath_EndsJob) {
  Play("rank-0 lost @10s; rank-1 lost @20s; rank-0..1 launcher-gone @20.4s");
  PlatformEnds(25, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "cancelled"});
  shard_.Feed(Node(), 40);
  EXPECT_THAT(Last(2), ElementsAre("20 1 attempt_ended died", "25 1 ended cancelled"));
  EXPECT_EQ(shard_.outputs().events.back().summary, "cancelled");
}

// Without a platform, the wait would be over at 12.0.
TEST_F(DeclaredEnds, ReportAfterAllRanksAreGone_EndsJob) {
  for (const double at : {10.5, 11.4, 11.5, 11.8, 12.0, 14.0}) {
    DeclaredEnds job;
    job.LoseAll();
    job.PlatformEnds(at, JobEvent::Kind::kEnded, "failed", {.signal = {}, .exit_code = 3});
    job.shard_.Feed(Node(), 30);
    const auto second = static_cast<int64_t>(at + 0.5);
    EXPECT_THAT(job.Last(2),
                ElementsAre(Cat(second, " 1 attempt_ended died"), Cat(second, " 1 ended died")))
        << at;
    EXPECT_EQ(job.shard_.outputs().events.back().summary, "exit code 3") << at;
  }
}

TEST_F(DeclaredEnds, LateCancellationOfGoneJob_IsNotDeath) {
  LoseAll();
  PlatformEnds(14, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "cancelled"});
  shard_.Feed(Node(), 30);
  EXPECT_THAT(Last(2), ElementsAre("14 1 attempt_ended cancelled", "14 1 ended cancelled"));
}

TEST_F(DeclaredEnds, LateRequeueOfGoneJob_CancelsItsAttempt) {
  LoseAll();
  PlatformEnds(13, JobEvent::Kind::kNotice, std::string(kPlatformEnd),
               {.signal = {}, .exit_code = 0, .on_purpose = true, .cause = "requeued"});
  shard_.Feed(Node(), 30);
  EXPECT_THAT(Last(1), ElementsAre("13 1 attempt_ended cancelled"));
  shard_.Feed(Node(), 110);
  EXPECT_THAT(Last(1), ElementsAre("13 1 attempt_ended cancelled"))
      << "the platform will restart the job";
  shard_.Feed(Node(), 200);
  EXPECT_THAT(Last(1), ElementsAre("130 1 ended cancelled"));
}

TEST_F(DeclaredEnds, GoneJobWithoutReport_Dies) {
  LoseAll();
  shard_.Feed(Node(), 30);
  EXPECT_THAT(Last(2), ElementsAre("15 1 attempt_ended died", "20 1 ended died"));
}

TEST_F(DeclaredEnds, RestartsDoNotChangeEvents) {
  const auto play = [](int restart_at) {
    DeclaredEnds job;
    int n = 0;
    const auto step = [&](auto&& act) {
      act();
      if (n++ == restart_at) job.shard_.Restart();
    };
    step([&] { job.LoseAll(); });
    step([&] { job.shard_.Feed(Node(), 11); });
    step([&] { job.shard_.Feed(Node(), 13); });
    step([&] {
      job.PlatformEnds(13.2, JobEvent::Kind::kEnded, "failed", {.signal = {}, .exit_code = 3});
    });
    step([&] { job.shard_.Feed(Node(), 30); });
    return job.Last(3);
  };
  const auto straight = play(-1);
  EXPECT_EQ(straight.back(), "13 1 ended died");
  for (int at = 0; at < 5; ++at) EXPECT_EQ(play(at), straight) << at;
}

TEST_F(DeclaredEnds, SilentPlatformDoesNotExtendGrace) {
  Play("rank-0 lost @10s; rank-1 lost @10.2s");
  shard_.Feed(Node(), 400);
  EXPECT_THAT(Last(2), ElementsAre("12 1 attempt_ended died", "130 1 ended died"));
}

}  // namespace
}  // namespace pitwall::engine
