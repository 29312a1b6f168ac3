#include "services/engine/lifecycle/job_attempt.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/engine/lifecycle/job_changes.h"
#include "services/engine/lifecycle/job_tombstone.h"

namespace pitwall::engine {
namespace {

EventTime At(int64_t ns) { return EventTime::FromNs(ns); }

Source RankOf(int64_t rank, int64_t start) {
  Source source;
  source.id = Cat("rank-", rank);
  source.info.kind = SourceKind::kRank;
  source.info.rank = rank;
  source.info.node = Cat("node-", rank);
  source.info.start = EventTime::FromNs(start);
  return source;
}

TEST(JobAttempt, PlaceBoot_LaterRank0_StartsNextAttempt) {
  JobAttempt attempt;
  const Source first = RankOf(0, 100);
  EXPECT_EQ(attempt.PlaceBoot(first), JobAttempt::Place::kNext);
  EXPECT_EQ(attempt.NextNumber(), 1U);
  attempt.Begin(1, first);
  EXPECT_EQ(attempt.PlaceBoot(RankOf(1, 200)), JobAttempt::Place::kFollowing);
  EXPECT_EQ(attempt.PlaceBoot(RankOf(0, 50)), JobAttempt::Place::kPast);
  EXPECT_EQ(attempt.PlaceBoot(RankOf(0, 200)), JobAttempt::Place::kNext);
  EXPECT_EQ(attempt.NextNumber(), 2U);
}

TEST(JobAttempt, PlaceBoot_Rank0_JoinsAttemptStartedByAnotherRank) {
  JobAttempt attempt;
  attempt.Begin(1, RankOf(3, 100));
  EXPECT_EQ(attempt.PlaceBoot(RankOf(0, 200)), JobAttempt::Place::kCurrent);
  EXPECT_EQ(attempt.PlaceBoot(RankOf(0, 300)), JobAttempt::Place::kNext);
}

TEST(JobAttempt, PlaceBoot_ExplicitNumbersTakePrecedence) {
  JobAttempt attempt;
  attempt.Begin(4, RankOf(0, 100));
  Source rank = RankOf(1, 50);
  for (const auto& [number, place] :
       {std::pair(3, JobAttempt::Place::kPast), std::pair(4, JobAttempt::Place::kCurrent),
        std::pair(5, JobAttempt::Place::kNext)}) {
    rank.info.attempt = number;
    EXPECT_EQ(attempt.PlaceBoot(rank), place) << number;
  }
}

TEST(JobAttempt, Reopen_RequiresSourceOfClosedAttempt) {
  JobAttempt attempt;
  Source rank = RankOf(0, 100);
  attempt.Begin(2, rank);
  rank.attempt = 2;
  EXPECT_FALSE(attempt.Reopen(rank));
  attempt.Close();
  rank.attempt = 1;
  EXPECT_FALSE(attempt.Reopen(rank));
  rank.attempt = 2;
  EXPECT_TRUE(attempt.Reopen(rank));
  EXPECT_TRUE(attempt.open());
}

TEST(JobAttempt, RestoreReproducesSavedState) {
  JobAttempt attempt;
  Source rank = RankOf(0, 100);
  attempt.Begin(3, rank);
  attempt.ranks().Join(&rank);
  attempt.ranks().CountLost();
  BinaryWriter writer;
  attempt.Save(writer);
  attempt.SaveFirstRank(writer);
  const auto bytes = writer.Take();
  JobAttempt restored;
  BinaryReader reader(bytes);
  restored.Restore(reader);
  restored.RestoreFirstRank(reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(restored.number(), 3U);
  EXPECT_TRUE(restored.open());
  EXPECT_TRUE(restored.ranks().has_lost());
  EXPECT_EQ(restored.PlaceBoot(RankOf(0, 100)), JobAttempt::Place::kCurrent);
}

TEST(AttemptRanks, AttemptDiesWhenNoRankRunsAndOneWasLost) {
  AttemptRanks ranks;
  Source a = RankOf(0, 1);
  Source b = RankOf(1, 1);
  EXPECT_TRUE(ranks.Join(&a));
  EXPECT_FALSE(ranks.Join(&a));
  EXPECT_TRUE(ranks.Join(&b));
  ranks.CountLost();
  EXPECT_TRUE(ranks.Leave(&a));
  EXPECT_FALSE(ranks.Leave(&a));
  EXPECT_FALSE(ranks.MustDie());
  ranks.Leave(&b);
  EXPECT_TRUE(ranks.MustDie());
  ranks.Die(At(7));
  EXPECT_FALSE(ranks.MustDie());
  EXPECT_EQ(ranks.died_at(), At(7));
  EXPECT_TRUE(ranks.Join(&a));
  EXPECT_EQ(ranks.died_at(), std::nullopt);
}

TEST(AttemptRanks, LaunchersGone_RequiresEveryNodeWithRanks) {
  AttemptRanks ranks;
  Source a = RankOf(0, 1);
  Source b = RankOf(1, 1);
  EXPECT_FALSE(ranks.LaunchersGone());
  ranks.Join(&a);
  ranks.Join(&b);
  EXPECT_FALSE(ranks.OnLauncherGone("elsewhere"));
  EXPECT_TRUE(ranks.OnLauncherGone("node-0"));
  EXPECT_FALSE(ranks.LaunchersGone());
  ranks.BeginAttempt({"node-0"});
  EXPECT_TRUE(ranks.LaunchersGone());
}

TEST(JobChanges, FirstEventReportsStart) {
  JobIdentity job;
  job.id = "job";
  AttemptFailures failures;
  EngineCounters counters;
  JobChanges changes(&job, &failures, &counters);
  EventSink out;
  IssueEvent* ended = changes.Emit(JobChange::kEnded, EndDetail::kCompleted, At(5), 2, &out);
  ASSERT_EQ(out.events.size(), 2U);
  EXPECT_EQ(out.events[0].job_change, JobChange::kStarted);
  EXPECT_EQ(ended, &out.events[1]);
  EXPECT_EQ(ended->sequence, 2U);
  changes.EmitStarted(At(6), 2, &out);
  EXPECT_EQ(out.events.size(), 2U);
  changes.Resume(/*had_attempts=*/false);
  changes.EmitStarted(At(7), 2, &out);
  EXPECT_EQ(out.events.size(), 3U);
}

TEST(JobTombstone, AmendmentRestartsExpiry) {
  JobTombstone tombstone;
  tombstone.End(At(100), /*by_event=*/false);
  tombstone.Tick(Duration::Nanos(10), Duration::Nanos(15));
  EXPECT_FALSE(tombstone.gone());
  tombstone.Amend(At(50));
  EXPECT_EQ(tombstone.ended_at(), At(100));
  tombstone.Tick(Duration::Nanos(10), Duration::Nanos(15));
  EXPECT_FALSE(tombstone.gone());
  tombstone.Tick(Duration::Nanos(10), Duration::Nanos(15));
  EXPECT_TRUE(tombstone.gone());
}

TEST(JobTombstone, LaterInputResumesJobUnlessEndedByEvent) {
  JobTombstone tombstone;
  tombstone.End(At(100), /*by_event=*/false);
  Batch batch;
  batch.promise = EventTime::FromNs(100);
  EXPECT_FALSE(tombstone.IsResumedBy(batch, std::nullopt));
  batch.promise = EventTime::FromNs(101);
  EXPECT_TRUE(tombstone.IsResumedBy(batch, std::nullopt));
  EXPECT_FALSE(tombstone.IsResumedBy(batch, At(90)));
  batch.info.kind = SourceKind::kRank;
  batch.info.start = EventTime::FromNs(91);
  EXPECT_TRUE(tombstone.IsResumedBy(batch, At(90)));
  tombstone.Amend(At(100));
  EXPECT_FALSE(tombstone.IsResumedBy(batch, std::nullopt));
}

}  // namespace
}  // namespace pitwall::engine
