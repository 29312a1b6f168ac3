// Tests which batches a job accepts when another user, a squatter, or a misbehaving collector
// interferes.
#include "services/engine/lifecycle/job_owner.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kRules[] = R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: NonFinite
    expr: train_loss != train_loss
  - alert: Flagged
    expr: pitwall_source_flagged{reason="other_owner"}
)";

class JobOwnerTest : public ::testing::Test {
 protected:
  JobOwnerTest() : shard_(kRules) {}

  struct From {
    std::string owner;
    bool declared = false;
    std::string source = "rank-0@n1";
    std::string boot = "boot";
    int64_t rank = 0;
    double start = 0;
  };
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  Batch BatchOf(const From& from) const {
    Batch batch;
    batch.owner = from.owner;
    batch.owner_declared = from.declared;
    batch.source = from.source;
    batch.boot_id = from.boot;
    batch.info.kind = SourceKind::kRank;
    batch.info.node = "n1";
    batch.info.rank = from.rank;
    batch.info.start = EventTime::FromNs(ShardForTest::At(from.start));
    return batch;
  }
  // Sends one loss at second `at` and a promise for that time.
  void Log(const From& from, double at, double loss) {
    const std::vector<int64_t> times{ShardForTest::At(at)};
    const std::vector<double> values{loss};
    Batch batch = BatchOf(from);
    batch.schemas.push_back(loss_);
    batch.frames.push_back({.schema_id = loss_.id, .times = times, .values = values});
    shard_.Feed(std::move(batch), at);
  }
  void Goodbye(const From& from, double at, bool ended) {
    Batch batch = BatchOf(from);
    batch.goodbye = true;
    if (ended) {
      JobEvent event;
      event.kind = JobEvent::Kind::kEnded;
      event.time = EventTime::FromNs(ShardForTest::At(at));
      event.reason = "completed";
      batch.events.push_back(event);
    }
    shard_.Feed(std::move(batch), at);
  }
  // If `goodbye` is set, the squatter ends the job first.
  void DeclareAfterASquatter(bool goodbye) {
    const From squatter{.owner = "uid:1001", .source = "rank-0@n9", .boot = "s"};
    for (int s = 1; s <= 3; ++s) Log(squatter, s, kNan);
    EXPECT_THAT(shard_.Events(), Contains("io.pitwall.issue.found NonFinite"));
    if (goodbye) {
      Goodbye(squatter, 4, true);
      ASSERT_TRUE(job()->state().lifecycle.ended());
    }
    const From declared{.owner = "uid:1000", .declared = true, .source = "node@n1", .boot = "n"};
    Log(declared, 4, 1.0);
    ASSERT_NE(job(), nullptr);
    EXPECT_FALSE(job()->state().lifecycle.ended());
    EXPECT_EQ(job()->state().identity.owner, "uid:1000");
    EXPECT_EQ(job()->state().sources().CountLive(), 1U) << "the squatter's sources are removed";
    EXPECT_EQ(shard_.shard().counters().displaced_jobs, 1U);
    EXPECT_THAT(shard_.Events(), Contains("io.pitwall.issue.resolved NonFinite"));
    Log(squatter, 5, kNan);
    EXPECT_EQ(refused(), 1U);
    // If two declarations differ, the first one counts.
    Log({.owner = "uid:1002", .declared = true, .source = "node@n2", .boot = "m"}, 5, kNan);
    EXPECT_EQ(refused(), 2U);
    Log(declared, 6, 1.0);
    EXPECT_EQ(job()->state().clock.watermark(), EventTime::FromNs(ShardForTest::At(6)));
    // Batches with an unknown owner are no longer accepted.
    Log({.owner = "", .source = "otlp", .boot = "o"}, 6, 1.0);
    EXPECT_EQ(refused(), 3U);
  }
  const Job* job() { return shard_.shard().jobs().Find("job"); }
  uint64_t refused() const { return shard_.drops(Drop::kOtherOwner); }

  const Schema loss_ = SchemaOf({{Labels({{kMetricName, "train_loss"}, {"rank", "0"}}), {}}});
  ShardForTest shard_;
  const From ours_{.owner = "uid:1000"};
};

TEST_F(JobOwnerTest, BatchOfAnotherOwnerHasNoEffect) {
  for (int s = 1; s <= 5; ++s) Log(ours_, s, 1.0);
  const From other{.owner = "uid:1001", .source = "rank-0@n2", .boot = "b2", .start = 4};
  const uint64_t attempt = job()->state().lifecycle.attempt();
  Log(other, 6, kNan);                                            // Joins as a rank and logs NaN.
  Log({.owner = "uid:1001", .boot = "b3", .start = 5}, 6, kNan);  // Becomes the new rank 0.
  Goodbye(other, 6, true);                                        // Ends the job.
  for (int s = 6; s <= 9; ++s) Log(ours_, s, 1.0);
  EXPECT_EQ(refused(), 3U);
  ASSERT_NE(job(), nullptr);
  EXPECT_FALSE(job()->state().lifecycle.ended());
  EXPECT_EQ(job()->state().lifecycle.attempt(), attempt);
  EXPECT_EQ(job()->state().sources().CountLive(), 1U);
  EXPECT_EQ(job()->state().clock.watermark(), EventTime::FromNs(ShardForTest::At(9)));
  EXPECT_EQ(job()->state().identity.owner, "uid:1000");
  EXPECT_THAT(shard_.Events(), Not(Contains("io.pitwall.issue.found NonFinite")));
  EXPECT_THAT(shard_.Events(), Contains("io.pitwall.issue.found Flagged"));
}

TEST_F(JobOwnerTest, FlagClearsWhenBatchesStop) {
  for (int s = 1; s <= 3; ++s) Log(ours_, s, 1.0);
  Log({.owner = "uid:1001", .source = "x"}, 3, kNan);
  for (int s = 4; s <= 70; ++s) {
    Log(ours_, s, 1.0);
    shard_.Tick();
    if (s == 30) shard_.Restart();
  }
  EXPECT_THAT(shard_.Events(), Contains("io.pitwall.issue.found Flagged"));
  EXPECT_THAT(shard_.Events(), Contains("io.pitwall.issue.resolved Flagged"));
}

TEST_F(JobOwnerTest, ReportedSendersAreBounded) {
  JobOwner owner;
  owner.Adopt(BatchOf(ours_));
  size_t told = 0;
  for (int i = 0; i < 1000; ++i)
    told += owner.Refuse(BatchOf({.owner = "uid:1", .source = Cat("s", i)}));
  EXPECT_EQ(told, JobOwner::kMaxSenders);
  EXPECT_FALSE(owner.Refuse(BatchOf({.owner = "uid:1", .source = "s0"}))) << "already reported";
  EXPECT_EQ(owner.Tick(JobOwner::kForgetAfter).size(), JobOwner::kMaxSenders);
  EXPECT_TRUE(owner.Refuse(BatchOf({.owner = "uid:1", .source = "s999"})));
}

TEST_F(JobOwnerTest, DeclarationDisplacesSquatter) { DeclareAfterASquatter(false); }
TEST_F(JobOwnerTest, DeclarationDisplacesTombstone) { DeclareAfterASquatter(true); }

TEST_F(JobOwnerTest, TombstoneOfUndeclaredOwnerBlocksOnlyThatOwner) {
  const From squatter{.owner = "uid:1001", .source = "rank-0@n9", .boot = "s"};
  Log(squatter, 1, 1.0);
  Goodbye(squatter, 2, true);
  ASSERT_TRUE(job()->state().lifecycle.ended());
  shard_.Restart();
  ASSERT_TRUE(job()->state().lifecycle.ended());
  Log(squatter, 3, 1.0);
  EXPECT_TRUE(job()->state().lifecycle.ended());
  EXPECT_EQ(shard_.drops(Drop::kJobEnded), 1U);
  for (int s = 3; s <= 5; ++s) Log(ours_, s, 1.0);
  EXPECT_FALSE(job()->state().lifecycle.ended());
  EXPECT_EQ(job()->state().identity.owner, "uid:1000");
  EXPECT_EQ(job()->state().clock.watermark(), EventTime::FromNs(ShardForTest::At(5)));
}

TEST_F(JobOwnerTest, UnknownOwnerIsAcceptedUntilDeclaration) {
  Log({.owner = "", .source = "old", .boot = "o"}, 1, 1.0);
  EXPECT_EQ(job()->state().identity.owner, "");
  Log(ours_, 1, 1.0);
  EXPECT_EQ(job()->state().identity.owner, "uid:1000");
  Log({.owner = "", .source = "old", .boot = "o"}, 2, 1.0);
  EXPECT_EQ(refused(), 0U);
  EXPECT_EQ(job()->state().sources().CountLive(), 2U);
  Log({.owner = "uid:1000", .declared = true}, 2, 1.0);
  EXPECT_EQ(job()->state().sources().CountLive(), 2U)
      << "the job continues with the same, now declared owner";
  Log({.owner = "", .source = "old", .boot = "o"}, 3, 1.0);
  EXPECT_EQ(refused(), 1U);
}

TEST_F(JobOwnerTest, OwnerSurvivesRestart) {
  Log({.owner = "uid:1000", .declared = true}, 1, 1.0);
  Log({.owner = "uid:1001", .source = "x"}, 1, kNan);
  shard_.Restart();
  EXPECT_EQ(job()->state().identity.owner, "uid:1000");
  Log({.owner = "uid:1001", .declared = true, .source = "x"}, 2, kNan);
  EXPECT_EQ(refused(), 1U) << "the counter starts with the process";
  EXPECT_EQ(job()->state().identity.owner, "uid:1000");
}

TEST_F(JobOwnerTest, EventsContainOwner) {
  for (int s = 1; s <= 3; ++s) Log(ours_, s, kNan);
  bool found = false;
  for (const IssueEvent& event : shard_.outputs().events) {
    EXPECT_EQ(event.owner, "uid:1000");
    found |= event.type == EventType::kIssueFound;
  }
  EXPECT_TRUE(found);
}

// The jobs of one owner must not displace the jobs of others.
TEST(JobsPerOwner, LimitIsShareOfPartition) {
  EngineOptions options;
  options.partition.max_jobs_per_owner = 3;
  options.partition.max_tombstones_per_owner = 2;
  RulesForTest rules;
  const std::string hash = rules.Add(kRules);
  Shard shard(&rules, options);
  ASSERT_TRUE(shard.SetInitialRules(hash).ok());
  codec::BatchEncoder encoder;
  EventSink out;
  int64_t offset = 0;
  const auto feed = [&](std::string job, std::string owner, bool end) {
    Batch batch;
    batch.job = std::move(job);
    batch.owner = std::move(owner);
    batch.source = "s";
    batch.boot_id = "b";
    batch.sequence = end ? 2 : 1;
    batch.promise = EventTime::FromNs(ShardForTest::At(end ? 2 : 1));
    batch.info.start = EventTime::FromNs(ShardForTest::At(0));
    if (end) batch.events.push_back({.kind = JobEvent::Kind::kEnded, .time = batch.promise});
    std::string bytes;
    encoder.Encode(batch, &bytes);
    ASSERT_TRUE(
        shard.Apply(LogOffset(offset++), AppendTime::FromNs(ShardForTest::At(2)), "k", bytes, &out)
            .ok());
  };
  for (int i = 0; i < 5; ++i) feed(Cat("a", i), "uid:1", false);
  EXPECT_EQ(shard.jobs().size(), 3U);
  EXPECT_EQ(shard.counters().drops[static_cast<size_t>(Drop::kLimit)], 2U);
  feed("b", "uid:2", false);
  feed("c", "", false);
  EXPECT_EQ(shard.jobs().size(), 5U) << "a job of another owner is admitted";
  for (int i = 0; i < 2; ++i) feed(Cat("a", i), "uid:1", true);
  feed("a7", "uid:1", false);
  EXPECT_NE(shard.jobs().Find("a7"), nullptr) << "ended jobs do not block other jobs";
  EXPECT_EQ(shard.jobs().Find("a0"), nullptr) << "the owner's share is two tombstones";
  EXPECT_NE(shard.jobs().Find("a1"), nullptr);
  feed("b2", "uid:2", false);
  EXPECT_NE(shard.jobs().Find("b2"), nullptr);
}

}  // namespace
}  // namespace pitwall::engine
