// Tests for subqueries in a running engine. Other tests cover query results over fixed samples.
#include "services/engine/ticks/subqueries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"
#include "services/model/value.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void Feed(ShardForTest* shard, int from, int to, double value) {
  const Schema schema = SchemaOf({{Labels({{kMetricName, "m"}}), SeriesKind::kGauge}});
  for (int t = from; t <= to; ++t) FeedSecond(shard, "n", schema, t, 1, value);
}

constexpr char kSpike[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Spike, expr: "max_over_time(avg_over_time(m[5s])[60s:5s]) > 10"}
)rules";

TEST(SubqueriesTest, SpikeIsVisibleWhileInWindow) {
  ShardForTest shard(kSpike);
  Feed(&shard, 1, 20, 1);
  Feed(&shard, 21, 30, 100);
  Feed(&shard, 31, 80, 1);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Spike"));
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.resolved Spike")));
  Feed(&shard, 81, 100, 1);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.resolved Spike"));
}

TEST(SubqueriesTest, RestoredJobEmitsSameEvents) {
  const auto events = [](bool restart) {
    ShardForTest shard(kSpike);
    Feed(&shard, 1, 20, 1);
    Feed(&shard, 21, 28, 100);
    if (restart) shard.Restart();
    Feed(&shard, 29, 60, 1);
    if (restart) shard.Restart();
    Feed(&shard, 61, 100, 1);
    return shard.Events();
  };
  EXPECT_THAT(events(false), Contains("io.pitwall.issue.resolved Spike"));
  EXPECT_EQ(events(true), events(false));
}

// A rule change that keeps the expression also keeps its results, even if the rule moves within the
// file.
TEST(SubqueriesTest, ReloadKeepsResults) {
  ShardForTest shard(kSpike);
  Feed(&shard, 1, 20, 1);
  Feed(&shard, 21, 30, 100);
  Feed(&shard, 31, 40, 1);
  shard.ChangeRules(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Other, expr: "count_over_time(sum(m)[30s:1s]) > 100"}
  - {alert: Spike, expr: "max_over_time(avg_over_time(m[5s])[60s:5s]) > 10"}
)rules");
  Feed(&shard, 41, 50, 1);
  EXPECT_THAT(shard.StatusOf("Other"), StartsWith("InProgress ")) << "its window is new";
  Feed(&shard, 51, 80, 1);
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.resolved Spike")));
}

// Subqueries see the series that earlier rules recorded at the same tick.
TEST(SubqueriesTest, SeriesRecordedAtTickAreVisibleToLaterRules) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {record: twice, expr: "m * 2"}
  - {alert: Late, expr: "last_over_time(twice[10s:1s]) != on () group_left () (m * 2)"}
)rules");
  for (int t = 1; t <= 30; ++t) Feed(&shard, t, t, t);
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("issue.found"))));
  EXPECT_THAT(shard.Events(), Contains(HasSubstr("status NoIssuesFound Late")));
}

// A failed step causes an error until it leaves the window.
TEST(SubqueriesTest, FailedStepIsErrorWhileInWindow) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Joined, expr: "max_over_time((m + on () n)[10s:1s]) > 100"}
)rules");
  const auto feed = [&](int from, int to, bool two) {
    const auto gauge = [](Labels labels) {
      return SeriesDescriptor{std::move(labels), SeriesKind::kGauge};
    };
    const Schema schema =
        SchemaOf({gauge({{kMetricName, "m"}}), gauge({{kMetricName, "n"}, {"a", "1"}}),
                  gauge({{kMetricName, "n"}, {"a", "2"}})});
    for (int t = from; t <= to; ++t) {
      const int64_t times[] = {ShardForTest::At(t)};
      const double values[] = {1, 1, two ? 1 : StaleMarker()};
      Batch batch;
      batch.source = "n";
      batch.info.kind = SourceKind::kNode;
      batch.schemas.push_back(schema);
      batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
      shard.Feed(batch, t);
    }
  };
  feed(1, 20, false);
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("Error"))));
  feed(21, 22, true);
  EXPECT_THAT(shard.Events(), Contains(HasSubstr("status Error Joined")));
  const size_t seen = shard.Events().size();
  feed(23, 29, false);
  EXPECT_EQ(shard.Events().size(), seen);
  feed(30, 40, false);
  EXPECT_EQ(shard.Events().back(), "status NoIssuesFound Joined ");
}

// The engine does not evaluate every tick during a long silence, but windows are complete
// afterward.
TEST(SubqueriesTest, WindowsAreCompleteAfterLongSilence) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 10s
  rules:
  - {alert: Lacks, expr: "count_over_time(max_over_time(vector(1)[1m:5s])[5m:15s]) < 20"}
  - {alert: Whole, expr: "count_over_time(max_over_time(vector(1)[1m:5s])[5m:15s]) == 20 and on () m"}
)rules");
  Feed(&shard, 1, 60, 1);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Whole")) << "from the first tick on";
  const uint64_t before = shard.shard().counters().evaluations;
  Feed(&shard, 500'000, 500'100, 1);
  EXPECT_LT(shard.shard().counters().evaluations, before + 10'000);
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.found Lacks")));
}

TEST(SubqueriesTest, SubqueryAddedByReload_IsAlignedToJob) {
  constexpr char kBefore[] = R"rules(
groups:
- {name: g, interval: 10s, align: job, rules: [{alert: Other, expr: "m > 1000"}]}
)rules";
  // The query sums ten consecutive integers, the last of which is sum(m).
  constexpr char kAfter[] = R"rules(
groups:
- name: g
  interval: 10s
  align: job
  rules:
  - {alert: Shifted, expr: "sum_over_time(sum(m)[10s:1s]) != 10 * sum(m) - 45"}
)rules";
  for (const bool reload : {false, true}) {
    ShardForTest shard(reload ? kBefore : kAfter);
    for (int t = 3; t <= 20; ++t) Feed(&shard, t, t, t);
    if (reload) shard.ChangeRules(kAfter);
    for (int t = 21; t <= 80; ++t) Feed(&shard, t, t, t);
    EXPECT_EQ(shard.StatusOf("Shifted"), "NoIssuesFound ") << "reload: " << reload;
  }
}

}  // namespace
}  // namespace pitwall::engine
