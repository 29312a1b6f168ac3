#include "services/engine/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShardTest, FullWindow_StatusIsError) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Median, expr: "quantile_over_time(0.5, m[10s]) > 10"}
  - {alert: Mean, expr: "avg_over_time(m[10s]) > 10"}
)rules");
  const Schema schema = SchemaOf({{Labels({{kMetricName, "m"}}), SeriesKind::kGauge}});
  for (int t = 1; t <= 5; ++t) FeedSecond(&shard, "n", schema, t, 100, 1.0);
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("Error"))));
  for (int t = 6; t <= 15; ++t) FeedSecond(&shard, "n", schema, t, 1000, 1.0);
  EXPECT_THAT(shard.Events(),
              Contains(HasSubstr("status Error Median a series has more than 4096 samples "
                                 "in a window that keeps all of them")));
  EXPECT_THAT(shard.Events(), Not(Contains(HasSubstr("Error Mean"))));
  EXPECT_GT(shard.shard().counters().rule_errors, 0U);
  // The error clears when the window has space again.
  for (int t = 16; t <= 40; ++t) FeedSecond(&shard, "n", schema, t, 100, 1.0);
  EXPECT_THAT(shard.Events().back(), HasSubstr("status NoIssuesFound Median"));
}

TEST(ShardTest, SnapshotOfUnsupportedFormat_IsRejectedWithAdvice) {
  ShardForTest shard("groups: []\n");
  FeedSecond(&shard, "n", SchemaOf({{Labels({{kMetricName, "m"}}), SeriesKind::kGauge}}), 1, 1, 0);
  const std::vector<std::string> jobs = shard.shard().jobs().SnapshotsDue(Duration::Zero(), 10);
  ASSERT_FALSE(jobs.empty());
  JobSnapshot snapshot = shard.shard().Snapshot(jobs[0], LogOffset(1));
  EXPECT_EQ(snapshot.format, kSnapshotJob);
  EXPECT_TRUE(ReadsSnapshot(kSnapshotJob));
  EXPECT_TRUE(ReadsSnapshot(kSnapshotJobBefore));
  for (const uint32_t format : {kSnapshotJobBefore - 1, kSnapshotJob + 1}) {
    EXPECT_FALSE(ReadsSnapshot(format));
    snapshot.format = format;
    ShardForTest fresh("groups: []\n");
    const Status refused = fresh.shard().RestoreJob(snapshot);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(Cat("snapshot has format ", format, ", but this version reads")));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("start the version that wrote it"));
  }
}

TEST(ShardTest, SourceWithoutSeriesStillPromises) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: NoSteps, expr: "absent(train_step)", for: 3s}
)rules");
  const Schema empty = SchemaOf({});
  for (int t = 1; t <= 6; ++t) FeedSecond(&shard, "n", empty, t, 1, 0);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found NoSteps"));
  EXPECT_EQ(shard.outputs().dead_letters.size(), 0U);
}

TEST(ShardTest, TooManySeries_StatusIsErrorAndOthersAreEvaluated) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: "m > 10"}
)rules",
                     {.max_series_per_job = 100});
  std::vector<SeriesDescriptor> series;
  for (int i = 0; i < 5000; ++i)
    series.push_back({Labels({{kMetricName, "m"}, {"id", Cat(i)}}), SeriesKind::kGauge});
  const Schema many = SchemaOf(std::move(series));
  for (int t = 1; t <= 5; ++t) FeedSecond(&shard, "n", many, t, 1, 99.0);
  EXPECT_THAT(shard.Events(), Contains("status Error High more than 100 series"));
  // The accepted series are evaluated.
  const auto events = shard.Events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "io.pitwall.issue.found High"), 100);
  EXPECT_EQ(std::count(events.begin(), events.end(), "status Error High more than 100 series"), 1);
  EXPECT_EQ(shard.drops(Drop::kLimit), 4900U);
}

}  // namespace
}  // namespace pitwall::engine
