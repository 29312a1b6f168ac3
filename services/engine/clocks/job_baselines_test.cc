// Tests for windows over the first samples of an attempt, in a running engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSlow[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Slow, expr: "baseline_zscore(m[first 10 samples after 5]) > 5"}
)rules";

void Feed(ShardForTest* shard, int from, int to, double value) {
  Schema schema;
  schema.series.push_back({Labels({{kMetricName, "m"}}), SeriesKind::kGauge});
  schema.id = SchemaId(0, schema.series);
  for (int t = from; t <= to; ++t) {
    const int64_t times[] = {ShardForTest::At(t)};
    const double values[] = {value};
    Batch batch;
    batch.source = "n";
    batch.info.kind = SourceKind::kNode;
    batch.schemas.push_back(schema);
    batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
    shard->Feed(batch, t);
  }
}

// A rule that has not been evaluated yet does not count as healthy.
TEST(BaselineTest, RuleIsInProgressUntilItsBaselineIsFull) {
  ShardForTest shard(kSlow);
  Feed(&shard, 1, 13, 10);
  EXPECT_THAT(shard.StatusOf("Slow"),
              HasSubstr("InProgress a window of first samples of the attempt is not full"));
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("NoIssuesFound"))));
  Feed(&shard, 14, 20, 10);
  EXPECT_EQ(shard.Events().back(), "status NoIssuesFound Slow ");
  Feed(&shard, 21, 30, 11);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Slow"));
  Feed(&shard, 31, 200, 10);  // The issue ends, but the baseline stays.
  Feed(&shard, 201, 210, 11);
  const std::vector<std::string> events = shard.Events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "io.pitwall.issue.found Slow"), 2);
}

TEST(BaselineTest, RestoredJobEmitsSameEvents) {
  const auto events = [](int restart) {
    ShardForTest shard(kSlow);
    for (int t = 1; t <= 60; ++t) {
      Feed(&shard, t, t, t % 20 == 0 ? 12 : 10);
      if (t % 7 == restart) shard.Restart();
    }
    return shard.Events();
  };
  const std::vector<std::string> without = events(-1);
  EXPECT_THAT(without, Contains("io.pitwall.issue.found Slow"));
  for (int restart = 0; restart < 7; ++restart) EXPECT_EQ(events(restart), without) << restart;
}

}  // namespace
}  // namespace pitwall::engine
