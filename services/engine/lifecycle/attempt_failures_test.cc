#include "services/engine/lifecycle/attempt_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "tests/telemetry_script/script.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EventTime DeathAt(double seconds) { return EventTime() + Duration::Nanos(seconds * 1e9); }

// Returns the deaths of a telemetry script (tests/telemetry_script). A rank is on node n unless the
// script names its node.
std::vector<RankDeath> Deaths(std::string_view script) {
  const auto statements = telemetry_script::ParseScript(script);
  PITWALL_CHECK_OK(statements.status());
  std::vector<RankDeath> deaths;
  for (const telemetry_script::Statement& statement : *statements) {
    const RankLost& lost = statement.event.rank_lost;
    for (const telemetry_script::SourceName& source : statement.sources) {
      deaths.push_back({.at = EventTime::FromNs(statement.first_ns),
                        .rank = source.rank,
                        .node = statement.change.node.value_or("n"),
                        .signal = lost.signal,
                        .exit_code = lost.exit_code,
                        .oom_killed = lost.oom_killed,
                        .reported_failure = ReportedFailure(statement.event),
                        .exception = lost.exception});
    }
  }
  return deaths;
}
void Add(AttemptFailures* failures, std::string_view script) {
  for (RankDeath& death : Deaths(script)) failures->Add(std::move(death));
}
AttemptFailures FailuresOf(std::string_view script) {
  AttemptFailures failures;
  Add(&failures, script);
  return failures;
}

std::string Saved(const AttemptFailures& failures) {
  BinaryWriter out;
  failures.Save(out);
  return out.Take();
}
// Returns the state after a save and a restore.
AttemptFailures Restored(const AttemptFailures& failures) {
  const std::string saved = Saved(failures);
  AttemptFailures restored;
  BinaryReader in(saved);
  restored.Restore(in);
  EXPECT_TRUE(in.Finish("deaths").ok());
  return restored;
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
  Add(&deaths, "rank-1 lost signal=9 @10s");
  EXPECT_THAT(ValuesAt(&deaths, 10), ElementsAre("1 died: signal 9 = 1", "count = 1"));
  Add(&deaths, "rank-0 lost signal=15 @10.2s; rank-2 lost signal=15 @10.2s");
  EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("count = 3"));
  EXPECT_THAT(ValuesAt(&deaths, 12), IsEmpty());
  EXPECT_EQ(deaths.decided_by(), DeathAt(12));
}

// The exception text is saved, and is reported only if the exception is the cause.
TEST(AttemptFailures, ExceptionIsReportedWithItsCause) {
  constexpr char kFailed[] = R"(rank-3 lost reported=1 exception="KeyError: 'lr'" @10s)";
  AttemptFailures deaths = FailuresOf(kFailed);
  AttemptFailures restored = Restored(deaths);
  for (AttemptFailures* each : {&deaths, &restored}) {
    const auto values = each->Judge(DeathAt(11));
    ASSERT_FALSE(values.empty());
    EXPECT_EQ(values[0].first.ToString(),
              "pitwall_rank_lost{cause=\"exception\",exception=\"KeyError: 'lr'\",node=\"n\","
              "rank=\"3\",verdict=\"died\"}");
  }
  AttemptFailures stopped;
  stopped.stop().Announce(DeathAt(9));
  Add(&stopped, kFailed);
  EXPECT_FALSE(stopped.Judge(DeathAt(11))[0].first.Has("exception"));
}

RankDeath LostPeer(double at, int64_t rank) {
  RankDeath death = Deaths(Cat("rank-", rank, " lost reported=1 @", at, "s"))[0];
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
    Add(&deaths, Cat("rank-1 lost exit_code=", code, " @11.5s"));
    EXPECT_THAT(ValuesAt(&deaths, 11.5),
                ElementsAre(Cat("1 died: exit code ", code, " = 1"), "count = 2"));
  }
}

TEST(AttemptFailures, PeerReportsLossBeforeExceptionIsKnown_ExceptionIsNamed) {
  AttemptFailures deaths;
  deaths.Add(LostPeer(10, 0));
  Add(&deaths, R"(rank-1 lost reported=1 exception="ValueError: no such label" @10.3s
                  rank-2 lost signal=15 @10.4s)");
  EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("1 died: exception = 1", "count = 3"));
}

TEST(AttemptFailures, PeersReportLossWithoutOtherCause_FirstIsNamed) {
  AttemptFailures deaths;
  deaths.Add(LostPeer(10, 2));
  deaths.Add(LostPeer(10.1, 0));
  Add(&deaths, "rank-1 lost signal=15 @10.2s");
  EXPECT_THAT(ValuesAt(&deaths, 11.9), IsEmpty());
  EXPECT_EQ(deaths.seen_by(), DeathAt(12.5));
  Add(&deaths, "rank-3 lost exit_code=1 @12.1s");
  EXPECT_THAT(ValuesAt(&deaths, 12.1), ElementsAre("2 died: exception = 1", "count = 4"));
}

// A launcher sees an exit status before the collector does, and ends the other ranks.
TEST(AttemptFailures, LauncherEndsOthersBeforeExitStatusIsKnown_ExitIsReported) {
  AttemptFailures one, several;
  Add(&one, "rank-0 lost signal=15 @10s; rank-1 lost exit_code=3 @10.25s");
  EXPECT_THAT(ValuesAt(&one, 11), ElementsAre("1 died: exit code 3 = 1", "count = 2"));
  Add(&several, "rank-0 lost signal=15 @10s; rank-1 lost signal=15 @10s");
  EXPECT_THAT(ValuesAt(&several, 10.3), IsEmpty());
  Add(&several, "rank-2 lost exit_code=3 @10.3s; rank-3 lost signal=15 @10.3s");
  EXPECT_THAT(ValuesAt(&several, 11), ElementsAre("2 died: exit code 3 = 1", "count = 4"));
}

TEST(AttemptFailures, PeerFailsAfterSigtermOfOneRank_SigtermIsNamed) {
  AttemptFailures deaths = FailuresOf("rank-1 lost signal=15 @10s; rank-0 lost reported=1 @10.1s");
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("1 died: signal 15 = 1", "count = 2"));
}

TEST(AttemptFailures, ScriptEndsItselfAfterSigterm_IsNotNamed) {
  for (const char* code : {"exit_code=0", ""}) {
    AttemptFailures deaths = FailuresOf("rank-0 lost signal=15 @10s");
    Add(&deaths, Cat("rank-1 lost ", code, " @10.1s"));
    EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("0 died: signal 15 = 1", "count = 2"));
  }
}

TEST(AttemptFailures, DeathAfterAnnouncedStop_IsAttributedToStop) {
  AttemptFailures deaths;
  deaths.stop().Announce(DeathAt(9), "rule p/g/a");
  AttemptFailures restored = Restored(deaths);
  for (AttemptFailures* each : {&deaths, &restored}) {
    Add(each, "rank-0 lost reported=1 @10s");
    EXPECT_THAT(ValuesAt(each, 10),
                ElementsAre("0 cancelled: stopped by the executor = 1", "count = 1"));
    EXPECT_TRUE(each->stop().Covers(DeathAt(10)));
    EXPECT_EQ(each->stop().by(), "rule p/g/a");
  }
  EXPECT_EQ(Saved(deaths), Saved(restored));
}

TEST(AttemptFailures, DeathBeforeOrLongAfterStopCountsAsDeath) {
  AttemptFailures before = FailuresOf("rank-1 lost signal=9 @8s");
  before.stop().Announce(DeathAt(9));
  Add(&before, "rank-0 lost signal=15 @10s");
  EXPECT_THAT(ValuesAt(&before, 11), ElementsAre("1 died: signal 9 = 1", "count = 2"));
  AttemptFailures after;
  after.stop().Announce(DeathAt(9));
  Add(&after, "rank-1 lost signal=9 @309.5s");
  EXPECT_THAT(ValuesAt(&after, 310), ElementsAre("1 died: signal 9 = 1", "count = 1"));
}

TEST(AttemptFailures, DeathAfterRefusedStopIsDeath) {
  AttemptFailures deaths;
  deaths.stop().Announce(DeathAt(9), "rule p/g/a");
  deaths.WithdrawStop();
  Add(&deaths, "rank-1 lost signal=9 @10s");
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
    Add(&deaths, "rank-1 lost signal=9 @10s");
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
  AttemptFailures one = FailuresOf("rank-1 lost signal=15 @10s");
  EXPECT_THAT(ValuesAt(&one, 11.4), IsEmpty());
  EXPECT_THAT(ValuesAt(&one, 11.5), ElementsAre("1 died: signal 15 = 1", "count = 1"));

  AttemptFailures all = FailuresOf("rank-1 lost signal=15 @10s");
  Add(&all, "rank-0 lost exit_code=143 @10.1s");  // A shell between the launcher and the rank.
  EXPECT_THAT(ValuesAt(&all, 10.5), ElementsAre("1 cancelled: signal 15 = 1", "count = 2"));
}

TEST(AttemptFailures, SecondSigtermAfterVerdictChangesVerdict) {
  AttemptFailures deaths = FailuresOf("rank-1 lost signal=15 @10s");
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("1 died: signal 15 = 1", "count = 1"));
  Add(&deaths, "rank-0 lost signal=15 @14s");
  EXPECT_THAT(ValuesAt(&deaths, 14.5),
              ElementsAre("1 died: signal 15 = 0", "1 cancelled: signal 15 = 1", "count = 2"));
  AttemptFailures late = FailuresOf("rank-1 lost signal=15 @10s; rank-0 lost signal=15 @15.1s");
  EXPECT_THAT(ValuesAt(&late, 16), ElementsAre("1 died: signal 15 = 1", "count = 2"));
}

TEST(AttemptFailures, PeersFailBeforeDeathIsObserved_DeathIsNamed) {
  AttemptFailures peers;
  Add(&peers, R"(rank-0 lost reported=1 @10s
                 rank-2 lost reported=1 @10.01s
                 rank-1(node=m) lost signal=9 @10.05s)");
  EXPECT_THAT(ValuesAt(&peers, 10.5), ElementsAre("1 died: signal 9 = 1", "count = 3"));

  // A busy collector observes the end of rank 1 late.
  AttemptFailures same_node =
      FailuresOf("rank-0 lost reported=1 @10s; rank-1 lost signal=9 @10.013s");
  EXPECT_THAT(ValuesAt(&same_node, 10.5), ElementsAre("1 died: signal 9 = 1", "count = 2"));

  AttemptFailures memory =
      FailuresOf("rank-0 lost reported=1 @10s; rank-1 lost signal=9 oom_killed=1 @10.08s");
  EXPECT_THAT(ValuesAt(&memory, 10.5), ElementsAre("1 died: out of memory = 1", "count = 2"));

  // The launcher sees that rank 0 has ended and ends the other ranks.
  AttemptFailures killing_launcher =
      FailuresOf("rank-0 lost reported=1 @10s; rank-1 lost signal=9 @10.06s");
  EXPECT_THAT(ValuesAt(&killing_launcher, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));

  // It is unknown why rank 1 ended; its launcher may have ended it.
  AttemptFailures unknown = FailuresOf("rank-0 lost reported=1 @10s; rank-1 lost @10.01s");
  EXPECT_THAT(ValuesAt(&unknown, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));

  // The launcher ends the other ranks shortly after the exception.
  AttemptFailures launcher =
      FailuresOf("rank-0 lost reported=1 @10s; rank-1 lost signal=15 @10.05s");
  EXPECT_THAT(ValuesAt(&launcher, 10.05), IsEmpty());
  EXPECT_THAT(ValuesAt(&launcher, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));

  AttemptFailures later = FailuresOf("rank-0 lost reported=1 @10s; rank-1 lost signal=9 @10.2s");
  EXPECT_THAT(ValuesAt(&later, 10.5), ElementsAre("0 died: exception = 1", "count = 2"));
}

TEST(AttemptFailures, CauseUsesMostSpecificInformation) {
  const auto cause = [](std::string_view fields) {
    AttemptFailures deaths = FailuresOf(Cat("rank-0 lost ", fields, " @1s"));
    return ValuesAt(&deaths, 100)[0];
  };
  EXPECT_EQ(cause("exit_code=3"), "0 died: exit code 3 = 1");
  EXPECT_EQ(cause("exit_code=137"), "0 died: signal 9 = 1");
  EXPECT_EQ(cause(""), "0 died: unknown = 1");
  // After a goodbye without an exception, the cause is the exit status.
  EXPECT_EQ(cause("exit_code=3 reported=1"), "0 died: exit code 3 = 1");
  EXPECT_EQ(cause("exit_code=3 reported=1 exception=\"KeyError: 'lr'\""), "0 died: exception = 1");
  EXPECT_EQ(cause("signal=11 reported=1"), "0 died: signal 11 = 1");
  EXPECT_EQ(cause("reported=1"), "0 died: exception = 1");
  EXPECT_EQ(cause("signal=9 oom_killed=1"), "0 died: out of memory = 1");
}

TEST(AttemptFailures, RestoreDoesNotChangeVerdicts) {
  for (const double judged : {9.0, 12.0}) {
    AttemptFailures deaths = FailuresOf("rank-1 lost signal=15 @10s");
    ValuesAt(&deaths, judged);
    AttemptFailures again = Restored(deaths);
    for (AttemptFailures* each : {&deaths, &again}) Add(each, "rank-0 lost signal=15 @14s");
    EXPECT_EQ(ValuesAt(&deaths, 14), ValuesAt(&again, 14));
    EXPECT_EQ(deaths.decided_by(), again.decided_by());
  }
}

AttemptFailures OfAPlatform(std::string_view script) {
  AttemptFailures deaths;
  deaths.ExpectPlatform();
  Add(&deaths, script);
  return deaths;
}
PlatformEnd OnPurpose(std::string cause) {
  return {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = std::move(cause)};
}

TEST(AttemptFailures, DeathCausedByPlatformIsCancelled) {
  for (const char* fields : {"signal=15", "signal=9", "reported=1", "", "exit_code=1"}) {
    AttemptFailures deaths = OfAPlatform(Cat("rank-0 lost ", fields, " @10s"));
    EXPECT_THAT(ValuesAt(&deaths, 10.9), IsEmpty()) << "the platform's report is pending";
    deaths.OnPlatformReport(DeathAt(11), OnPurpose("time limit"));
    EXPECT_EQ(deaths.seen_by(), DeathAt(11.5));
    EXPECT_THAT(ValuesAt(&deaths, 11), ElementsAre("0 cancelled: time limit = 1", "count = 1"));
    EXPECT_TRUE(deaths.cancelled());
  }
}

TEST(AttemptFailures, SilentPlatformDelaysDeathsButNotCrashes) {
  AttemptFailures killed = OfAPlatform("rank-0 lost signal=9 @10s");
  EXPECT_THAT(ValuesAt(&killed, 11), IsEmpty());
  EXPECT_THAT(ValuesAt(&killed, 11.5), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  AttemptFailures crashed = OfAPlatform("rank-0 lost signal=11 @10s");
  EXPECT_THAT(ValuesAt(&crashed, 10), ElementsAre("0 died: signal 11 = 1", "count = 1"));
}

TEST(AttemptFailures, DeathBeforeCancellationIsStillDeath) {
  AttemptFailures crashed = OfAPlatform("rank-0 lost signal=11 @10s");
  crashed.OnPlatformReport(DeathAt(12), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&crashed, 12), ElementsAre("0 died: signal 11 = 1", "count = 1"));
  // A user noticed that the job hung and canceled it.
  AttemptFailures killed = OfAPlatform("rank-0 lost signal=9 @10s");
  EXPECT_THAT(ValuesAt(&killed, 12), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  killed.OnPlatformReport(DeathAt(40), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&killed, 41), IsEmpty());
}

TEST(AttemptFailures, SigtermsDuringLongGraceAreOneCancellation) {
  AttemptFailures deaths = OfAPlatform("rank-0 lost signal=15 @10s");
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("0 died: signal 15 = 1", "count = 1"));
  Add(&deaths, "rank-1 lost signal=9 @40s");
  deaths.OnPlatformReport(DeathAt(40.5), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&deaths, 41),
              ElementsAre("0 died: signal 15 = 0", "0 cancelled: cancelled = 1", "count = 2"));
}

TEST(AttemptFailures, JobEndWaitsUntilRulesSeePlatformReport) {
  AttemptFailures deaths = OfAPlatform("rank-0 lost signal=9 @10s");
  EXPECT_EQ(deaths.decided_by(), DeathAt(20.5));
  deaths.OnPlatformReport(DeathAt(11.8), OnPurpose("cancelled"));
  EXPECT_EQ(deaths.seen_by(), DeathAt(12.3));
  EXPECT_EQ(deaths.decided_by(), DeathAt(12.3));
}

// Slurm runs its epilog after all of the job's processes have ended. Under load, this can take
// seconds.
TEST(AttemptFailures, DeathOfGoneJobWaitsLongerForPlatform) {
  AttemptFailures cancelled = OfAPlatform("rank-0 lost signal=9 @10s");
  cancelled.SetGone(true);
  EXPECT_THAT(ValuesAt(&cancelled, 14.5), IsEmpty());
  EXPECT_EQ(cancelled.seen_by(), DeathAt(15.5));
  cancelled.OnPlatformReport(DeathAt(14.6), OnPurpose("cancelled"));
  EXPECT_THAT(ValuesAt(&cancelled, 15), ElementsAre("0 cancelled: cancelled = 1", "count = 1"));

  AttemptFailures silent = OfAPlatform("rank-0 lost signal=9 @10s");
  silent.SetGone(true);
  EXPECT_THAT(ValuesAt(&silent, 14.5), IsEmpty());
  EXPECT_THAT(ValuesAt(&silent, 15), ElementsAre("0 died: signal 9 = 1", "count = 1"));

  AttemptFailures restarted = OfAPlatform("rank-0 lost signal=9 @10s");
  restarted.SetGone(true);
  restarted.SetGone(false);
  EXPECT_THAT(ValuesAt(&restarted, 11.5), ElementsAre("0 died: signal 9 = 1", "count = 1"));
}

TEST(AttemptFailures, GoneJobReportsImmediatelyWithoutPlatformWait) {
  AttemptFailures crashed = OfAPlatform("rank-0 lost signal=11 @10s");
  crashed.SetGone(true);
  EXPECT_THAT(ValuesAt(&crashed, 10), ElementsAre("0 died: signal 11 = 1", "count = 1"));
  AttemptFailures alone = FailuresOf("rank-0 lost signal=9 @10s");
  alone.SetGone(true);
  EXPECT_THAT(ValuesAt(&alone, 10), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  AttemptFailures told = OfAPlatform("rank-0 lost signal=9 @10s");
  EXPECT_THAT(ValuesAt(&told, 11.5), ElementsAre("0 died: signal 9 = 1", "count = 1"));
  told.SetGone(true);
  Add(&told, "rank-1 lost signal=9 @11.6s");
  EXPECT_EQ(told.seen_by(), DeathAt(12));
  EXPECT_THAT(ValuesAt(&told, 12), ElementsAre("count = 2"));
}

TEST(AttemptFailures, GoneStateSurvivesRestart) {
  AttemptFailures deaths = OfAPlatform("rank-0 lost signal=9 @10s");
  deaths.SetGone(true);
  AttemptFailures restored = Restored(deaths);
  EXPECT_EQ(restored.seen_by(), DeathAt(15.5));
}

TEST(AttemptFailures, PlatformReportExplainsUnobservedEnd) {
  const auto reported = [](std::string_view fields, PlatformEnd end, int ranks = 1) {
    AttemptFailures deaths = OfAPlatform("");
    for (int i = 0; i < ranks; ++i) Add(&deaths, Cat("rank-0 lost ", fields, " @10s"));
    deaths.OnPlatformReport(DeathAt(11), end);
    return ValuesAt(&deaths, 11)[0];
  };
  constexpr std::string_view unseen;
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
  EXPECT_EQ(reported("signal=9", {.signal = 9, .exit_code = {}, .oom_killed = true}),
            "0 died: out of memory = 1");
  EXPECT_EQ(reported("signal=9",
                     {.signal = {}, .exit_code = 1, .oom_killed = false, .cause = "node failure"}),
            "0 died: node failure = 1");
  EXPECT_EQ(reported("exit_code=3", {.signal = {}, .exit_code = 1}), "0 died: exit code 3 = 1")
      << "the collector's observation takes precedence";
  // A script may handle SIGTERM and exit with code 0.
  EXPECT_EQ(reported("signal=15", {.signal = {}, .exit_code = 0}), "0 cancelled: signal 15 = 1");
}

TEST(AttemptFailures, PlatformReportSurvivesRestart) {
  AttemptFailures deaths = OfAPlatform("rank-0 lost @10s");
  EXPECT_THAT(ValuesAt(&deaths, 12), ElementsAre("0 died: unknown = 1", "count = 1"));
  deaths.OnPlatformReport(DeathAt(13), {.signal = {}, .exit_code = 3});
  AttemptFailures restored = Restored(deaths);
  for (AttemptFailures* each : {&deaths, &restored}) {
    EXPECT_THAT(ValuesAt(each, 13), ElementsAre("0 died: unknown = 0", "0 died: exit code 3 = 1"));
  }
  EXPECT_EQ(Saved(deaths), Saved(restored));
}

}  // namespace
}  // namespace pitwall::engine
