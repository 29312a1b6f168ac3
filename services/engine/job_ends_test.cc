// Ends of ranks, attempts and jobs where a scenario over a whole log would hide them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/engine_for_test.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr char kRules[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: "m > 0.5"}
)rules";

class JobEnds : public ::testing::Test {
 protected:
  // What the rank of that node says at a time, which it promises.
  void Say(int64_t rank, double at, std::optional<JobEvent::Kind> event = std::nullopt,
           bool goodbye = false) {
    Batch batch;
    batch.source = Cat("rank-", rank);
    batch.boot_id = boot_;
    batch.info.kind = SourceKind::kRank;
    batch.info.node = Cat("node-", rank);
    batch.info.rank = rank;
    batch.info.start_ns = ShardForTest::At(start_);
    batch.info.attempt = attempt_;
    batch.owner = owner_;
    batch.goodbye = goodbye;
    if (event.has_value()) {
      JobEvent happened;
      happened.kind = *event;
      happened.time_ns = ShardForTest::At(at);
      if (*event == JobEvent::Kind::kRankLost) {
        happened.rank_lost.rank = rank;
        happened.rank_lost.source = batch.source;
        happened.rank_lost.boot_id = batch.boot_id;
      }
      batch.events.push_back(happened);
    }
    shard_.Feed(batch, at);
  }
  void Lose(int64_t rank, double at) { Say(rank, at, JobEvent::Kind::kRankLost); }
  void Boot(const std::string& boot, double at) {
    boot_ = boot;
    start_ = at;
    for (int64_t rank : {0, 1}) Say(rank, at);
  }
  void Stop(double at, std::string_view reason) {
    Batch batch;
    batch.source = "executor@n1";
    batch.boot_id = reason;
    batch.owner = owner_;
    batch.info.kind = SourceKind::kForeign;
    JobEvent ended;
    ended.kind = reason == kStopping ? JobEvent::Kind::kNotice : JobEvent::Kind::kEnded;
    ended.time_ns = ShardForTest::At(at);
    ended.reason = reason;
    batch.events.push_back(ended);
    shard_.Feed(batch, at);
  }
  void Ticks(int n) {
    shard_.SetAppendTime(1000);
    for (int i = 0; i < n; ++i) shard_.Tick();
    shard_.SetAppendTime(-1);
  }
  // "<second> <attempt> <change> <detail>[ rank]" of each change so far.
  std::vector<std::string> Changes() const {
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type != EventType::kJobChanged) continue;
      out.push_back(Cat((e.time_ns - ShardForTest::kBase) / kNanosPerSecond, " ", e.attempt, " ",
                        JobChangeName(e.job_change), " ", EndDetailName(e.end_detail),
                        e.lost_rank ? Cat(" ", e.lost_rank->rank, "@", e.lost_rank->node) : ""));
    }
    return out;
  }

  ShardForTest shard_{kRules};
  std::string boot_ = "one";
  std::string owner_;
  double start_ = 1;
  std::optional<uint64_t> attempt_;
};

TEST_F(JobEnds, AJumpOfTheWatermarkOverTheGraceEndsTheJobInTime) {
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

// What a process makes of the executor's SIGTERM, e.g. an exception, is no death of its own, and a
// tick between its end and the record that the action is done changes nothing.
TEST_F(JobEnds, TheEndThatTheExecutorAnnouncedIsNoDeath) {
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

TEST_F(JobEnds, ADeathLongAfterAnAnnouncedEndIsOne) {
  Boot("one", 1);
  Stop(9, kStopping);
  Say(0, 400);
  Say(1, 400);
  Lose(0, 410);
  Lose(1, 411);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 420);
  EXPECT_EQ(Changes().back(), "411 1 attempt_ended died");
}

TEST_F(JobEnds, ARestartWithinTheSameJumpIsNoEnd) {
  Boot("one", 1);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 2);
  Lose(0, 10);
  Lose(1, 11);
  Boot("two", 100);
  for (int64_t rank : {0, 1}) Say(rank, 400);
  shard_.Feed(node, 400);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "10 1 rank_lost died 0@node-0", "11 1 rank_lost died 1@node-1",
                                     "11 1 attempt_ended died", "100 2 attempt_began "));
}

TEST_F(JobEnds, SilenceIsNoDeathAndAGoodbyeAloneNeither) {
  Boot("one", 1);
  Lose(0, 10);
  Ticks(300);  // rank 1 is idle
  EXPECT_EQ(Changes().back(), "10 1 rank_lost died 0@node-0");
  Say(1, 320, std::nullopt, /*goodbye=*/true);
  Ticks(2);
  EXPECT_EQ(Changes().back(), "320 1 attempt_ended died");
}

TEST_F(JobEnds, AllGoodbyesAreNoDeath) {
  Boot("one", 1);
  for (int64_t rank : {0, 1}) Say(rank, 10, std::nullopt, /*goodbye=*/true);
  Ticks(300);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began "));
}

// A collector that was away for long finds its ranks dead when the job is over by silence.
TEST_F(JobEnds, ARankFoundDeadLaterBringsNoJobBack) {
  Boot("one", 1);
  Ticks(1900);
  ASSERT_THAT(Changes().back(), ::testing::EndsWith("ended silent"));
  const size_t told = Changes().size();
  Lose(0, 4000);
  Lose(1, 4000);
  Say(1, 4001, JobEvent::Kind::kLauncherGone);
  Ticks(200);
  EXPECT_EQ(Changes().size(), told) << Changes().back();
}

TEST_F(JobEnds, WhileItWaitsForARestartItSaysForHowLong) {
  Boot("one", 1);
  EXPECT_EQ(shard_.shard().FindJob("job")->OverInNs(), std::nullopt);
  Lose(0, 10);
  Lose(1, 11);
  Batch node;
  node.source = "node";
  shard_.Feed(node, 34);
  EXPECT_EQ(shard_.shard().FindJob("job")->OverInNs(), 97 * kNanosPerSecond);
  shard_.Restart();
  EXPECT_EQ(shard_.shard().FindJob("job")->OverInNs(), 97 * kNanosPerSecond);
  shard_.Feed(node, 400);
  EXPECT_EQ(shard_.shard().FindJob("job")->OverInNs(), std::nullopt);
}

TEST_F(JobEnds, EachNodesLauncherCounts) {
  Boot("one", 1);
  Lose(0, 10);
  Say(0, 11, JobEvent::Kind::kLauncherGone);
  Lose(1, 12);
  Ticks(3);
  EXPECT_EQ(Changes().back(), "12 1 attempt_ended died");
  Say(1, 20, JobEvent::Kind::kLauncherGone);
  Ticks(10);
  EXPECT_EQ(Changes().back(), "20 1 ended died");
}

TEST_F(JobEnds, AnAttemptThatHasItsNumberGoesOnWithIt) {
  attempt_ = 7;
  Boot("one", 1);
  Lose(0, 10);
  Lose(1, 10);
  Ticks(2);
  Boot("two", 50);
  for (int64_t rank : {0, 1}) Say(rank, 60);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 7 attempt_began ",
                                     "10 7 rank_lost died 0@node-0", "10 7 rank_lost died 1@node-1",
                                     "10 7 attempt_ended died", "50 7 attempt_began "));
}

TEST_F(JobEnds, ARankThatIsFasterThanRankZeroIsNoZombie) {
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
    batch.info.start_ns = ShardForTest::At(start_);
    batch.schemas.push_back(schema);
    batch.frames.push_back({.schema_id = schema.id,
                            .times_ns = times,
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
  start_ = 19.5;  // it started later, too
  Say(0, 26);
  start_ = 19;
  step(27);
  Say(0, 28);
  EXPECT_EQ(Changes().back(), "25 2 attempt_began ");
  EXPECT_EQ(shard_.drops(Drop::kZombie), 0U);
}

TEST_F(JobEnds, WhatIsLeftOfAJobKnowsItsDead) {
  Boot("one", 1);
  Lose(0, 10);
  Lose(1, 10);
  Ticks(130);
  EXPECT_EQ(Changes().back(), "130 1 ended died");
  shard_.Restart();
  Say(1, 500);  // resent, with whatever promise
  Batch node;
  node.source = "node";
  shard_.Feed(node, 500);  // of a declared job: no rank
  EXPECT_TRUE(shard_.shard().Jobs()[0]->ended());
  Boot("two", 600);
  for (int64_t rank : {0, 1}) Say(rank, 610);
  EXPECT_EQ(Changes().back(), "600 2 attempt_began ");
}

TEST_F(JobEnds, AnActionEndsAJobAtOnceAndForGood) {
  Boot("one", 1);
  Stop(5.5, "stopped");
  for (int64_t rank : {0, 1}) Say(rank, 6);
  EXPECT_THAT(Changes(), ElementsAre("1 0 started ", "1 1 attempt_began ",
                                     "5 1 attempt_ended stopped", "5 1 ended stopped"));
  Boot("two", 10);
  EXPECT_TRUE(shard_.shard().Jobs()[0]->ended());
  EXPECT_EQ(shard_.drops(Drop::kJobEnded), 2U);
}

TEST_F(JobEnds, AnActionWhoseEndComesLateIsTold) {
  Boot("one", 1);
  for (int64_t rank : {0, 1}) Lose(rank, 10);
  for (int64_t rank : {0, 1}) Say(rank, 10, JobEvent::Kind::kLauncherGone);
  Ticks(3);  // rules see the deaths before the job is over
  EXPECT_EQ(Changes().back(), "12 1 ended died");
  Stop(10.5, "stopped");
  EXPECT_EQ(Changes().back(), "12 1 ended stopped");
  shard_.Restart();
  Boot("two", 20);
  EXPECT_TRUE(shard_.shard().Jobs()[0]->ended());
}

TEST_F(JobEnds, NobodySpeaksForRanksOfAnotherNode) {
  Boot("one", 1);
  Batch liar;
  liar.source = "node@evil";
  liar.info.node = "evil";
  JobEvent lost;
  lost.kind = JobEvent::Kind::kRankLost;
  lost.time_ns = ShardForTest::At(2);
  lost.rank_lost.source = "rank-0";
  lost.rank_lost.boot_id = "one";
  liar.events.push_back(lost);
  shard_.Feed(liar, 2);
  for (int64_t rank : {0, 1}) Say(rank, 10);
  shard_.Feed({.source = "node@evil"}, 10);
  EXPECT_EQ(Changes().size(), 2U);
  EXPECT_EQ(shard_.drops(Drop::kMalformed), 1U);
}

// Whichever arrives first, and wherever a processor is killed in between.
TEST(JobEndsOrder, ArrivalAndRestartsChangeNothing) {
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
          Say(rank, rank == 0 ? 13 : 12.5, JobEvent::Kind::kLauncherGone);
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

// A job that Slurm's prolog has declared, on two nodes.
class DeclaredEnds : public JobEnds {
 public:
  using JobEnds::shard_;

  void TestBody() override {}
  DeclaredEnds() {
    owner_ = "uid:1000";
    Batch node = Node();
    JobEvent started;
    started.kind = JobEvent::Kind::kStarted;
    started.time_ns = ShardForTest::At(1);
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
    event.time_ns = ShardForTest::At(at);
    event.reason = std::move(reason);
    AddPlatformEnd(end, &event);
    node.events.push_back(event);
    shard_.Feed(node, at);
  }
  void LoseAll() {
    Lose(0, 10);
    Lose(1, 10.2);
    for (int64_t rank : {0, 1}) Say(rank, 10.4, JobEvent::Kind::kLauncherGone);
  }
  std::vector<std::string> Last(size_t n) const {
    const std::vector<std::string> all = Changes();
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(n, all.size())), all.end()};
  }
};

TEST_F(DeclaredEnds, ACancelledJobEndsAsThatAndNotByDeath) {
  Lose(0, 10);
  Lose(1, 10.2);
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "time limit"});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(2), ElementsAre("11 1 attempt_ended cancelled", "11 1 ended cancelled"))
      << "rules have a tick for what its ranks ended by";
  EXPECT_EQ(shard_.outputs().events.back().summary, "time limit");
}

TEST_F(DeclaredEnds, WhatThePlatformCallsFailedIsADeathWhereRanksWereLost) {
  Lose(0, 10);
  Say(1, 10.1, std::nullopt, /*goodbye=*/true);
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "failed", {.signal = {}, .exit_code = 3});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(2), ElementsAre("11 1 attempt_ended died", "11 1 ended died"));
  EXPECT_EQ(shard_.outputs().events.back().summary, "exit code 3");
}

TEST_F(DeclaredEnds, WhatTheExecutorAskedForIsItsStop) {
  Stop(9, kStopping);
  Lose(0, 10);
  Lose(1, 10.2);
  PlatformEnds(10.5, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "cancelled"});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(1), ElementsAre("10 1 ended stopped")) << "a stop needs no word";
}

TEST_F(DeclaredEnds, ARequeuedJobGoesOnWithAnotherAttempt) {
  Lose(0, 10);
  Lose(1, 10.2);
  PlatformEnds(10.5, JobEvent::Kind::kNotice, std::string(kPlatformEnd),
               {.signal = {}, .exit_code = 0, .on_purpose = true, .cause = "requeued"});
  shard_.Feed(Node(), 20);
  EXPECT_THAT(Last(1), ElementsAre("11 1 attempt_ended cancelled"));
  Boot("two", 30);
  shard_.Feed(Node(), 31);
  EXPECT_THAT(Last(1), ElementsAre("30 2 attempt_began "));
}

// Somebody sees that a rank died, and cancels the rest.
TEST_F(DeclaredEnds, AWordLongAfterTheFirstDeathIsTheEndToo) {
  Lose(0, 10);
  Lose(1, 20);
  for (int64_t rank : {0, 1}) Say(rank, 20.4, JobEvent::Kind::kLauncherGone);
  PlatformEnds(25, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "cancelled"});
  shard_.Feed(Node(), 40);
  EXPECT_THAT(Last(2), ElementsAre("20 1 attempt_ended died", "25 1 ended cancelled"));
  EXPECT_EQ(shard_.outputs().events.back().summary, "cancelled");
}

// The executor is done when the last process has gone, before the tick in which rules see that.
TEST_F(JobEnds, ADeathJustBeforeTheEndIsSeenByRules) {
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
  EXPECT_EQ(ended.time_ns, ShardForTest::At(10.5));
}

// At 12.0 nobody would wait any more for a job without a platform.
TEST_F(DeclaredEnds, AWordOfAJobThatIsGoneIsItsEnd) {
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

TEST_F(DeclaredEnds, ALateCancellationOfAJobThatIsGoneIsNoDeath) {
  LoseAll();
  PlatformEnds(14, JobEvent::Kind::kEnded, "cancelled",
               {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "cancelled"});
  shard_.Feed(Node(), 30);
  EXPECT_THAT(Last(2), ElementsAre("14 1 attempt_ended cancelled", "14 1 ended cancelled"));
}

TEST_F(DeclaredEnds, ALateRequeueOfAJobThatIsGoneEndsItsAttemptAsThat) {
  LoseAll();
  PlatformEnds(13, JobEvent::Kind::kNotice, std::string(kPlatformEnd),
               {.signal = {}, .exit_code = 0, .on_purpose = true, .cause = "requeued"});
  shard_.Feed(Node(), 30);
  EXPECT_THAT(Last(1), ElementsAre("13 1 attempt_ended cancelled"));
  shard_.Feed(Node(), 110);
  EXPECT_THAT(Last(1), ElementsAre("13 1 attempt_ended cancelled")) << "it will be started again";
  shard_.Feed(Node(), 200);
  EXPECT_THAT(Last(1), ElementsAre("130 1 ended cancelled"));
}

TEST_F(DeclaredEnds, AJobThatIsGoneWithoutAWordDiesAllTheSame) {
  LoseAll();
  shard_.Feed(Node(), 30);
  EXPECT_THAT(Last(2), ElementsAre("15 1 attempt_ended died", "20 1 ended died"));
}

TEST_F(DeclaredEnds, WhereARestartFallsChangesNothing) {
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

TEST_F(DeclaredEnds, ASilentPlatformEndsNothingLaterThanTheGrace) {
  Lose(0, 10);
  Lose(1, 10.2);
  shard_.Feed(Node(), 400);
  EXPECT_THAT(Last(2), ElementsAre("12 1 attempt_ended died", "130 1 ended died"));
}

}  // namespace
}  // namespace pitwall::engine
