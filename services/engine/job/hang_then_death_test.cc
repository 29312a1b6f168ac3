// Tests for a hang that kills the job. The hang and the death form one incident, and the hang ends
// with the detail "died".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr char kHangAndDeath[] = R"rules(
groups:
- name: deaths
  interval: 500ms
  rules:
  - {alert: RankDied, expr: 'pitwall_rank_lost{verdict="died"} == 1', labels: {severity: critical, category: death}}
- name: hangs
  interval: 500ms
  rules:
  - alert: Hang
    expr: max(stands_still) == 1
    keep_firing_for: 2s
    scope: attempt
    explains: [{alert: RankDied, scope: job, lag: 1m}]
    labels: {severity: critical, category: hang}
)rules";

// Two ranks that hang starting at second 3. The collector on their node reports their deaths.
class HangThenDeath : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int s = 1; s <= 9; ++s) Send(s, s < 3 ? 0 : 1);
  }
  void Send(double at, double value) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const Schema schema = SchemaOf(
          {{Labels({{kMetricName, "stands_still"}, {"rank", Cat(rank)}}), SeriesKind::kGauge}});
      const int64_t times[] = {ShardForTest::At(at)};
      const double values[] = {value};
      Batch batch = Of(rank);
      batch.schemas.push_back(schema);
      batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
      shard_.Feed(batch, at);
    }
  }
  void Lose(int64_t rank, double at, int32_t signal) {
    Batch batch = Of(rank);
    JobEvent lost;
    lost.kind = JobEvent::Kind::kRankLost;
    lost.time = EventTime::FromNs(ShardForTest::At(at));
    lost.rank_lost.rank = rank;
    lost.rank_lost.source = batch.source;
    lost.rank_lost.boot_id = boot_;
    lost.rank_lost.signal = signal;
    batch.events.push_back(lost);
    shard_.Feed(batch, at);
  }
  Batch Of(int64_t rank) const {
    Batch batch;
    batch.source = Cat("rank-", rank);
    batch.boot_id = boot_;
    batch.info.kind = SourceKind::kRank;
    batch.info.node = "node";
    batch.info.rank = rank;
    batch.info.start = EventTime::FromNs(ShardForTest::At(boot_ == "one" ? 0.5 : 9.7));
    return batch;
  }
  void Ticks(int n) {
    shard_.SetAppendTime(1000);
    for (int i = 0; i < n; ++i) shard_.Tick();
    shard_.SetAppendTime(-1);
  }
  // Returns "found Hang of Hang" or "resolved Hang of Hang, attempt_ended died" for each issue. An
  // incident is named after its first issue.
  std::vector<std::string> IssueEvents() const {
    std::map<std::string, std::string> names;
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type == EventType::kRuleStatus || e.type == EventType::kJobChanged) continue;
      names.try_emplace(e.incident, e.alert);
      std::string line =
          Cat(EventTypeName(e.type).substr(17), " ", e.alert, " of ", names[e.incident]);
      if (e.type == EventType::kIssueResolved)
        CatTo(line, ", ", EndReasonName(e.end_reason), " ", EndDetailName(e.end_detail));
      out.push_back(std::move(line));
    }
    return out;
  }

  ShardForTest shard_{kHangAndDeath};
  std::string boot_ = "one";
};

TEST_F(HangThenDeath, DeathsWithinOneTickAreOneIncident) {
  Lose(0, 9.1, 6);
  Lose(1, 9.2, 6);
  Ticks(5);
  EXPECT_THAT(IssueEvents(), ElementsAre("found Hang of Hang", "found RankDied of Hang",
                                         "resolved Hang of Hang, attempt_ended died"));
}

TEST_F(HangThenDeath, SimultaneousDeathsAreOneIncident) {
  Lose(0, 9.1, 9);
  Lose(1, 9.1, 9);
  Ticks(5);
  EXPECT_THAT(IssueEvents(), ElementsAre("found Hang of Hang", "found RankDied of Hang",
                                         "resolved Hang of Hang, attempt_ended died"));
}

TEST_F(HangThenDeath, SnapshotInBetweenDoesNotChangeEvents) {
  Lose(0, 9.1, 6);
  shard_.Restart();
  Lose(1, 9.2, 6);
  shard_.Restart();
  Ticks(1);
  shard_.Restart();
  Ticks(4);
  EXPECT_THAT(IssueEvents(), ElementsAre("found Hang of Hang", "found RankDied of Hang",
                                         "resolved Hang of Hang, attempt_ended died"));
}

TEST_F(HangThenDeath, RestartBeforeVerdict_HangEndsWithAttempt) {
  Lose(0, 9.1, 6);
  Lose(1, 9.2, 6);
  boot_ = "two";
  Send(9.8, 0);
  Ticks(5);
  const std::vector<std::string> events = IssueEvents();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[0], "found Hang of Hang");
  EXPECT_THAT(events, ::testing::Contains("resolved Hang of Hang, attempt_ended died"));
  EXPECT_EQ(std::count(events.begin(), events.end(), "found Hang of Hang"), 1);
}

}  // namespace
}  // namespace pitwall::engine
