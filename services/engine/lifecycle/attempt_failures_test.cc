#include "services/engine/lifecycle/attempt_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EventTime DeathAt(double seconds) { return EventTime() + Duration::Nanos(seconds * 1e9); }

RankDeath Signalled(double at, int64_t rank, int32_t signal) {
  return {.at = DeathAt(at), .rank = rank, .node = "n", .signal = signal, .exit_code = {}};
}
RankDeath Failed(double at, int64_t rank) {
  return {.at = DeathAt(at), .rank = rank, .node = "n", .reported_failure = true};
}
RankDeath Exited(double at, int64_t rank, std::optional<int32_t> code) {
  return {.at = DeathAt(at), .rank = rank, .node = "n", .signal = {}, .exit_code = code};
}

// Formats values as "<rank> <verdict>: <cause> = <value>" or "count = <value>".
std::vector<std::string> ValuesAt(AttemptFailures* deaths, double at) {
  std::vector<std::string> out;
  for (const auto& [labels, value] : deaths->Judge(DeathAt(at))) {
    out.push_back(labels.Get(kMetricName) == AttemptFailures::kCount
                      ? Cat("count = ", value)
                      : Cat(labels.Get("rank"), " ", labels.Get("verdict"), ": ",
                            labels.Get("cause"), " = ", value));
  }
  return out;
}

TEST(AttemptFailures, FirstKillIsReportedImmediately_LaterDeathsAreCounted) {
  AttemptFailures deaths;
  EXPECT_THAT(ValuesAt(&deaths, 9), IsEmpty());
  deaths.Add(Signalled(10, 1, 9));
  EXPECT_THAT(ValuesAt(&deaths, 10), ElementsAre("1 died: signal 9 = 1", "count = 1"));
  deaths.Add(Signalled(10.2, 0, 15));
  deaths.Add(Signalled(10.2, 2, 15));
  EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("count = 3"));
  EXPECT_THAT(ValuesAt(&deaths, 12), IsEmpty());
  EXPECT_EQ(deaths.decided_by(), DeathAt(12));
}

// The exception text is saved, and is reported only if the exception is the cause.
TEST(AttemptFailures, ExceptionIsReportedWithItsCause) {
  RankDeath failed = Failed(10, 3);
  failed.exception = "KeyError: 'lr'";
  AttemptFailures deaths;
  deaths.Add(failed);
  BinaryWriter saved;
  deaths.Save(saved);
  AttemptFailures restored;
  BinaryReader in(saved.data());
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("deaths").ok());
  for (AttemptFailures* each : {&deaths, &restored}) {
    const auto values = each->Judge(DeathAt(11));
    ASSERT_FALSE(values.empty());
    EXPECT_EQ(values[0].first.ToString(),
              "pitwall_rank_lost{cause=\"exception\",exception=\"KeyError: 'lr'\",node=\"n\","
              "rank=\"3\",verdict=\"died\"}");
  }
  AttemptFailures stopped;
  stopped.stop().Announce(DeathAt(9));
  stopped.Add(failed);
  EXPECT_FALSE(stopped.Judge(DeathAt(11))[0].first.Has("exception"));
}

RankDeath LostPeer(double at, int64_t rank) {
  RankDeath death = Failed(at, rank);
  death.exception = "RuntimeError: […/pair.cc:561] Connection closed by peer [127.0.0.1]:9891.";
  return death;
}

// The peer of an exiting rank fails immediately, but the exit status is known only after the
// process has ended.
TEST(AttemptFailures, PeerReportsLossBeforeExitStatusIsKnown_ExitIsReported) {
  for (const int32_t code : {0, 3}) {
    AttemptFailures deaths;
    deaths.Add(LostPeer(10, 0));
    EXPECT_THAT(ValuesAt(&deaths, 10.5), IsEmpty());
    deaths.Add(Exited(11.5, 1, code));
    EXPECT_THAT(ValuesAt(&deaths, 11.5),
                ElementsAre(Cat("1 died: exit code ", code, " = 1"), "count = 2"));
  }
}

TEST(AttemptFailures, PeerReportsLossBeforeExceptionIsKnown_ExceptionIsNamed) {
  RankDeath failed = Failed(10.3, 1);
  failed.exception = "ValueError: no such label";
  AttemptFailures deaths;
  deaths.Add(LostPeer(10, 0));
  deaths.Add(failed);
  deaths.Add(Signalled(10.4, 2, 15));
  EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("1 died: exception = 1", "count = 3"));
}

TEST(AttemptFailures, PeersReportLossWithoutOtherCause_FirstIsNamed) {
  AttemptFailures deaths;
  deaths.Add(LostPeer(10, 2));
  deaths.Add(LostPeer(10.1, 0));
  deaths.Add(Signalled(10.2, 1, 15));
  EXPECT_THAT(ValuesAt(&deaths, 11.9), IsEmpty());
  EXPECT_EQ(deaths.seen_by(), DeathAt(12.5));
  deaths.Add(Exited(12.1, 3, 1));
  EXPECT_THAT(ValuesAt(&deaths, 12.1), ElementsAre("2 died: exception = 1", "count = 4"));
}

// A launcher sees an exit status before the collector does, and ends the other ranks.
TEST(AttemptFailures, LauncherEndsOthersBeforeExitStatusIsKnown_ExitIsReported) {
  AttemptFailures one, several;
  one.Add(Signalled(10, 0, 15));
  one.Add(Exited(10.25, 1, 3));
  EXPECT_THAT(ValuesAt(&one, 11), ElementsAre("1 died: exit code 3 = 1", "count = 2"));
  several.Add(Signalled(10, 0, 15));
  several.Add(Signalled(10, 1, 15));
  EXPECT_THAT(ValuesAt(&several, 10.3), IsEmpty());
  several.Add(Exited(10.3, 2, 3));
  several.Add(Signalled(10.3, 3, 15));
  EXPECT_THAT(ValuesAt(&several, 11), ElementsAre("2 died: exit code 3 = 1", "count = 4"));
}

TEST(AttemptFailures, PeerFailsAfterSigtermOfOneRank_SigtermIsNamed) {
  AttemptFailures deaths;
  deaths.Add(Signalled(10, 1, 15));
  deaths.Add(Failed(10.1, 0));
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("1 died: signal 15 = 1", "count = 2"));
}

TEST(AttemptFailures, ScriptEndsItselfAfterSigterm_IsNotNamed) {
  for (const std::optional<int32_t> code : {std::optional<int32_t>(0), std::optional<int32_t>()}) {
    AttemptFailures deaths;
    deaths.Add(Signalled(10, 0, 15));
    deaths.Add(Exited(10.1, 1, code));
    EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("0 died: signal 15 = 1", "count = 2"));
  }
}

TEST(AttemptFailures, DeathAfterAnnouncedStop_IsAttributedToStop) {
  AttemptFailures deaths;
  deaths.stop().Announce(DeathAt(9), "rule p/g/a");
  BinaryWriter between;
  deaths.Save(between);
  AttemptFailures restored;
  BinaryReader in(between.data());
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("deaths").ok());
  for (AttemptFailures* each : {&deaths, &restored}) {
    each->Add(Failed(10, 0));
    EXPECT_THAT(ValuesAt(each, 10),
                ElementsAre("0 cancelled: stopped by the executor = 1", "count = 1"));
    EXPECT_TRUE(each->stop().Covers(DeathAt(10)));
    EXPECT_EQ(each->stop().by(), "rule p/g/a");
  }
  BinaryWriter first, second;
  deaths.Save(first);
  restored.Save(second);
  EXPECT_EQ(first.data(), second.data());
}

TEST(AttemptFailures, DeathBeforeOrLongAfterStopCountsAsDeath) {
  AttemptFailures before;
  before.Add(Signalled(8, 1, 9));
  before.stop().Announce(DeathAt(9));
  before.Add(Signalled(10, 0, 15));
  EXPECT_THAT(ValuesAt(&before, 11), ElementsAre("1 died: signal 9 = 1", "count = 2"));
  AttemptFailures after;
  after.stop().Announce(DeathAt(9));
  after.Add(Signalled(309.5, 1, 9));
  EXPECT_THAT(ValuesAt(&after, 310), ElementsAre("1 died: signal 9 = 1", "count = 1"));
}

TEST(AttemptFailures, DeathAfterRefusedStopIsDeath) {
  AttemptFailures deaths;
  deaths.stop().Announce(DeathAt(9), "rule p/g/a");
  deaths.WithdrawStop();
  deaths.Add(Signalled(10, 1, 9));
  EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("1 died: signal 9 = 1", "count = 1"));
  EXPECT_EQ(deaths.stop().by(), "");
}

// A rank can also announce a stop, with an arbitrary time. That time must not cause an overflow or
// hide a death.
TEST(AttemptFailures, StopWithInvalidTimeDoesNotHideDeaths) {
  for (const EventTime at :
       {EventTime::Min(), EventTime::FromNs(INT64_MIN / 2), EventTime::Max()}) {
    AttemptFailures deaths;
    deaths.stop().Announce(at);
    deaths.Add(Signalled(10, 1, 9));
    EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("1 died: signal 9 = 1", "count = 1"));
    EXPECT_FALSE(deaths.stop().Covers(EventTime::Earliest()));
  }
}

TEST(AttemptFailures, ReadsStateSavedBeforeAnnouncementsExisted) {
  BinaryWriter old;
  old.Bool(false);
  AttemptFailures deaths;
  BinaryReader in(old.data());
  deaths.Restore(in);
  EXPECT_TRUE(in.Finish("deaths").ok());
  EXPECT_THAT(ValuesAt(&deaths, 10), IsEmpty());
  BinaryReader damaged("\x04");
  deaths.Restore(damaged);
  EXPECT_FALSE(damaged.ok());
}

TEST(AttemptFailures, VerdictOnSigtermWaitsForSecondSigterm) {
  AttemptFailures one;
  one.Add(Signalled(10, 1, 15));
  EXPECT_THAT(ValuesAt(&one, 11.4), IsEmpty());
  EXPECT_THAT(ValuesAt(&one, 11.5), ElementsAre("1 died: signal 15 = 1", "count = 1"));

  AttemptFailures all;
  all.Add(Signalled(10, 1, 15));
  all.Add(Exited(10.1, 0, 143));  // A shell between the launcher and the rank.
  EXPECT_THAT(ValuesAt(&all, 10.5), ElementsAre("1 cancelled: signal 15 = 1", "count = 2"));
}

TEST(AttemptFailures, SecondSigtermAfterVerdictChangesVerdict) {
  AttemptFailures deaths;
  deaths.Add(Signalled(10, 1, 15));
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("1 died: signal 15 = 1", "count = 1"));
  deaths.Add(Signalled(14, 0, 15));
  EXPECT_THAT(ValuesAt(&deaths, 14.5),
              ElementsAre("1 died: signal 15 = 0", "1 cancelled: signal 15 = 1", "count = 2"));
  AttemptFailures late;
  late.Add(Signalled(10, 1, 15));
  late.Add(Signalled(15.1, 0, 15));
  EXPECT_THAT(ValuesAt(&late, 16), ElementsAre("1 died: signal 15 = 1", "count = 2"));
}

TEST(AttemptFailures, PeersFailBeforeDeathIsObserved_DeathIsNamed) {
  AttemptFailures peers;
  peers.Add(Failed(10, 0));
  peers.Add(Failed(10.01, 2));
  RankDeath other_node = Signalled(10.05, 1, 9);
  other_node.node = "m";
  peers.Add(std::move(other_node));
  EXPECT_THAT(ValuesAt(&peers, 10.5), ElementsAre("1 died: signal 9 = 1", "count = 3"));

  AttemptFailures same_node;  // A busy collector observes the end of rank 1 late.
  same_node.Add(Failed(10, 0));
  same_node.Add(Signalled(10.013, 1, 9));
  EXPECT_THAT(ValuesAt(&same_node, 10.5), ElementsAre("1 died: signal 9 = 1", "count = 2"));

  AttemptFailures memory;
  memory.Add(Failed(10, 0));
  RankDeath killed = Signalled(10.08, 1, 9);
  killed.oom_killed = true;
  memory.Add(std::move(killed));
  EXPECT_THAT(ValuesAt(&memory, 10.5), ElementsAre("1 died: out of memory = 1", "count = 2"));

  AttemptFailures
      killing_launcher;  // The launcher sees that rank 0 has ended and ends the other ranks.
  killing_launcher.Add(Failed(10, 0));
  killing_launcher.Add(Signalled(10.06, 1, 9));
  EXPECT_THAT(ValuesAt(&killing_launcher, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));

  AttemptFailures unknown;  // It is unknown why rank 1 ended; its launcher may have ended it.
  unknown.Add(Failed(10, 0));
  unknown.Add(Exited(10.01, 1, std::nullopt));
  EXPECT_THAT(ValuesAt(&unknown, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));

  AttemptFailures launcher;  // The launcher ends the other ranks shortly after the exception.
  launcher.Add(Failed(10, 0));
  launcher.Add(Signalled(10.05, 1, 15));
  EXPECT_THAT(ValuesAt(&launcher, 10.05), IsEmpty());
  EXPECT_THAT(ValuesAt(&launcher, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));

  AttemptFailures later;
  later.Add(Failed(10, 0));
  later.Add(Signalled(10.2, 1, 9));
  EXPECT_THAT(ValuesAt(&later, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));
}

TEST(AttemptFailures, CauseUsesMostSpecificInformation) {
  const auto cause = [](RankDeath death) {
    AttemptFailures deaths;
    deaths.Add(std::move(death));
    return ValuesAt(&deaths, 100)[0];
  };
  EXPECT_EQ(cause(Exited(1, 0, 3)), "0 died: exit code 3 = 1");
  EXPECT_EQ(cause(Exited(1, 0, 137)), "0 died: signal 9 = 1");
  EXPECT_EQ(cause(Exited(1, 0, std::nullopt)), "0 died: unknown = 1");
  // After a goodbye without an exception, the cause is the exit status.
  RankDeath reported = Exited(1, 0, 3);
  reported.reported_failure = true;
  EXPECT_EQ(cause(reported), "0 died: exit code 3 = 1");
  reported.exception = "KeyError: 'lr'";
  EXPECT_EQ(cause(reported), "0 died: exception = 1");
  RankDeath crashed = Signalled(1, 0, 11);
  crashed.reported_failure = true;
  EXPECT_EQ(cause(crashed), "0 died: signal 11 = 1");
  EXPECT_EQ(cause(Failed(1, 0)), "0 died: exception = 1");
  RankDeath oom = Signalled(1, 0, 9);
  oom.oom_killed = true;
  EXPECT_EQ(cause(oom), "0 died: out of memory = 1");
}

TEST(AttemptFailures, RestoreDoesNotChangeVerdicts) {
  for (const double judged : {9.0, 12.0}) {
    AttemptFailures deaths;
    deaths.Add(Signalled(10, 1, 15));
    ValuesAt(&deaths, judged);
    BinaryWriter out;
    deaths.Save(out);
    const std::string bytes = out.Take();
    AttemptFailures again;
    BinaryReader in(bytes);
    again.Restore(in);
    EXPECT_TRUE(in.AtEnd());
    for (AttemptFailures* each : {&deaths, &again}) each->Add(Signalled(14, 0, 15));
    EXPECT_EQ(ValuesAt(&deaths, 14), ValuesAt(&again, 14));
    EXPECT_EQ(deaths.decided_by(), again.decided_by());
  }
}

AttemptFailures OfAPlatform() {
  AttemptFailures deaths;
  deaths.ExpectPlatform();
  return deaths;
}
PlatformEnd OnPurpose(std::string cause) {
  return {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = std::move(cause)};
}

TEST(AttemptFailures, DeathCausedByPlatformIsCancelled) {
  for (const RankDeath& first : {Signalled(10, 0, 15), Signalled(10, 0, 9), Failed(10, 0),
                                 Exited(10, 0, std::nullopt), Exited(10, 0, 1)}) {
    AttemptFailures deaths = OfAPlatform();
    deaths.Add(first);
    EXPECT_THAT(ValuesAt(&deaths, 10.9), IsEmpty()) << "the platform's report is pending";
    deaths.OnPlatformReport(DeathAt(11), OnPurpose("time limit"));
    EXPECT_EQ(deaths.seen_by(), DeathAt(11.5));
    EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("0 cancelled: time limit = 1", "count = 1"));
    EXPECT_TRUE(deaths.cancelled());
  }
}

TEST(AttemptFailures, SilentPlatformDelaysDeathsButNotCrashes) {
  AttemptFailures killed = OfAPlatform();
  killed.Add(Signalled(10, 0, 9));
  EXPECT_THAT(ValuesAt(&killed, 11), IsEmpty());
  EXPECT_THAT(ValuesAt(&killed, 11.5), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  AttemptFailures crashed = OfAPlatform();
  crashed.Add(Signalled(10, 0, 11));
  EXPECT_THAT(ValuesAt(&crashed, 10), ElementsAre("0 died: signal 11 = 1", "count = 1"));
}

TEST(AttemptFailures, DeathBeforeCancellationIsStillDeath) {
  AttemptFailures crashed = OfAPlatform();
  crashed.Add(Signalled(10, 0, 11));
  crashed.OnPlatformReport(DeathAt(12), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&crashed, 12), ElementsAre("0 died: signal 11 = 1", "count = 1"));
  // A user noticed that the job hung and canceled it.
  AttemptFailures killed = OfAPlatform();
  killed.Add(Signalled(10, 0, 9));
  EXPECT_THAT(ValuesAt(&killed, 12), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  killed.OnPlatformReport(DeathAt(40), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&killed, 41), IsEmpty());
}

TEST(AttemptFailures, SigtermsDuringLongGraceAreOneCancellation) {
  AttemptFailures deaths = OfAPlatform();
  deaths.Add(Signalled(10, 0, 15));
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("0 died: signal 15 = 1", "count = 1"));
  deaths.Add(Signalled(40, 1, 9));
  deaths.OnPlatformReport(DeathAt(40.5), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&deaths, 41),
              ElementsAre("0 died: signal 15 = 0", "0 cancelled: cancelled = 1", "count = 2"));
}

TEST(AttemptFailures, JobEndWaitsUntilRulesSeePlatformReport) {
  AttemptFailures deaths = OfAPlatform();
  deaths.Add(Signalled(10, 0, 9));
  EXPECT_EQ(deaths.decided_by(), DeathAt(20.5));
  deaths.OnPlatformReport(DeathAt(11.8), OnPurpose("cancelled"));
  EXPECT_EQ(deaths.seen_by(), DeathAt(12.3));
  EXPECT_EQ(deaths.decided_by(), DeathAt(12.3));
}

// Slurm runs its epilog after all of the job's processes have ended. Under load, this can take
// seconds.
TEST(AttemptFailures, DeathOfGoneJobWaitsLongerForPlatform) {
  AttemptFailures cancelled = OfAPlatform();
  cancelled.Add(Signalled(10, 0, 9));
  cancelled.SetGone(true);
  EXPECT_THAT(ValuesAt(&cancelled, 14.5), IsEmpty());
  EXPECT_EQ(cancelled.seen_by(), DeathAt(15.5));
  cancelled.OnPlatformReport(DeathAt(14.6), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&cancelled, 15), ElementsAre("0 cancelled: cancelled = 1", "count = 1"));

  AttemptFailures silent = OfAPlatform();
  silent.Add(Signalled(10, 0, 9));
  silent.SetGone(true);
  EXPECT_THAT(ValuesAt(&silent, 14.5), IsEmpty());
  EXPECT_THAT(ValuesAt(&silent, 15), ElementsAre("0 died: signal 9 = 1", "count = 1"));

  AttemptFailures restarted = OfAPlatform();
  restarted.Add(Signalled(10, 0, 9));
  restarted.SetGone(true);
  restarted.SetGone(false);
  EXPECT_THAT(ValuesAt(&restarted, 11.5), ElementsAre("0 died: signal 9 = 1", "count = 1"));
}

TEST(AttemptFailures, GoneJobReportsImmediatelyWithoutPlatformWait) {
  AttemptFailures crashed = OfAPlatform();
  crashed.Add(Signalled(10, 0, 11));
  crashed.SetGone(true);
  EXPECT_THAT(ValuesAt(&crashed, 10), ElementsAre("0 died: signal 11 = 1", "count = 1"));
  AttemptFailures alone;
  alone.Add(Signalled(10, 0, 9));
  alone.SetGone(true);
  EXPECT_THAT(ValuesAt(&alone, 10), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  AttemptFailures told = OfAPlatform();
  told.Add(Signalled(10, 0, 9));
  EXPECT_THAT(ValuesAt(&told, 11.5), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  told.SetGone(true);
  told.Add(Signalled(11.6, 1, 9));
  EXPECT_EQ(told.seen_by(), DeathAt(12));
  EXPECT_THAT(ValuesAt(&told, 12), ElementsAre("count = 2"));
}

TEST(AttemptFailures, GoneStateSurvivesRestart) {
  AttemptFailures deaths = OfAPlatform();
  deaths.Add(Signalled(10, 0, 9));
  deaths.SetGone(true);
  BinaryWriter out;
  deaths.Save(out);
  AttemptFailures restored;
  BinaryReader in(out.data());
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("deaths").ok());
  EXPECT_EQ(restored.seen_by(), DeathAt(15.5));
}

TEST(AttemptFailures, PlatformReportExplainsUnobservedEnd) {
  const auto reported = [](RankDeath first, PlatformEnd end, int ranks = 1) {
    AttemptFailures deaths = OfAPlatform();
    for (int i = 0; i < ranks; ++i) deaths.Add(first);
    deaths.OnPlatformReport(DeathAt(11), end);
    return ValuesAt(&deaths, 11)[0];
  };
  const RankDeath unseen = Exited(10, 0, std::nullopt);
  EXPECT_EQ(reported(unseen, {.signal = {}, .exit_code = 3}), "0 died: exit code 3 = 1");
  EXPECT_EQ(reported(unseen, {.signal = 11, .exit_code = {}}), "0 died: signal 11 = 1");
  EXPECT_EQ(reported(unseen, {.signal = {}, .exit_code = 139}), "0 died: signal 11 = 1")
      << "a shell reports 128 plus the signal";
  EXPECT_EQ(reported(unseen, {.signal = {}, .exit_code = 3}, 2),
            "0 died: unknown; its job ended with exit code 3 = 1")
      << "the exit code may belong to either rank";
  EXPECT_EQ(reported(unseen, {.signal = {}, .exit_code = 0}), "0 died: unknown = 1");
  PlatformEnd of_rank{.signal = {}, .exit_code = 3};
  of_rank.rank = 0;
  EXPECT_EQ(reported(unseen, of_rank, 2), "0 died: exit code 3 = 1");
  of_rank.rank = 1;
  EXPECT_EQ(reported(unseen, of_rank, 2), "0 died: unknown = 1")
      << "the report is about another rank";
  EXPECT_EQ(reported(Signalled(10, 0, 9), {.signal = 9, .exit_code = {}, .oom_killed = true}),
            "0 died: out of memory = 1");
  EXPECT_EQ(reported(Signalled(10, 0, 9),
                     {.signal = {}, .exit_code = 1, .oom_killed = false, .cause = "node failure"}),
            "0 died: node failure = 1");
  EXPECT_EQ(reported(Exited(10, 0, 3), {.signal = {}, .exit_code = 1}), "0 died: exit code 3 = 1")
      << "the collector's observation takes precedence";
  // A script may handle SIGTERM and exit with code 0.
  EXPECT_EQ(reported(Signalled(10, 0, 15), {.signal = {}, .exit_code = 0}),
            "0 cancelled: signal 15 = 1");
}

TEST(AttemptFailures, PlatformReportSurvivesRestart) {
  AttemptFailures deaths = OfAPlatform();
  deaths.Add(Exited(10, 0, std::nullopt));
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("0 died: unknown = 1", "count = 1"));
  deaths.OnPlatformReport(DeathAt(13), {.signal = {}, .exit_code = 3});
  BinaryWriter out;
  deaths.Save(out);
  AttemptFailures restored;
  BinaryReader in(out.data());
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("deaths").ok());
  for (AttemptFailures* each : {&deaths, &restored}) {
    EXPECT_THAT(ValuesAt(each, 13), ElementsAre("0 died: unknown = 0", "0 died: exit code 3 = 1"));
  }
  BinaryWriter first, second;
  deaths.Save(first);
  restored.Save(second);
  EXPECT_EQ(first.data(), second.data());
}

}  // namespace
}  // namespace pitwall::engine
