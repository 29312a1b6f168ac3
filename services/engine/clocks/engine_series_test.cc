// Tests for the series that the engine writes, as seen by rules: attempts and sources with wrong
// clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kAttempts[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Second, expr: pitwall_job_attempt == 2}
  - {alert: Seventh, expr: pitwall_job_attempt == 7}
  - {alert: Begun, expr: pitwall_job_attempts_begun_total >= 3}
  - {alert: Loop, expr: 'changes(pitwall_job_attempts_begun_total[1m]) >= 2'}
  - {alert: Few, expr: 'count_over_time(pitwall_job_attempt[5m]) < 20'}
)rules";

// Creates a batch from one source. `at` is the promise.
struct SourceBatch {
  std::string source;
  std::string boot = "boot";
  double start = 0;
  std::optional<uint64_t> attempt;
  double at = 0;
  bool goodbye = false;
};

std::vector<SourceBatch> ThreeAttempts() {
  std::vector<SourceBatch> sent;
  for (int t = 1; t <= 400; ++t) {
    const double start = t <= 100 ? 0 : t <= 130 ? 100 : 130;
    sent.push_back({.source = "rank-0",
                    .boot = Cat("boot-", start),
                    .start = start,
                    .at = t * 1.0,
                    .goodbye = t == 100 || t == 130});
    sent.push_back({.source = "node", .at = t * 1.0});
  }
  return sent;
}

void Send(ShardForTest* shard, const SourceBatch& sent) {
  Batch batch;
  batch.source = sent.source;
  batch.boot_id = sent.boot;
  const bool rank = pitwall::StartsWith(sent.source, "rank");
  batch.info.kind = rank ? SourceKind::kRank : SourceKind::kNode;
  batch.info.rank = rank ? 0 : -1;
  batch.info.start = EventTime::FromNs(ShardForTest::At(sent.start));
  batch.info.attempt = sent.attempt;
  batch.goodbye = sent.goodbye;
  shard->Feed(batch, sent.at);
}

// Returns issue events in order, such as "found Second at 101". Omits statuses.
std::vector<std::string> Issues(const ShardForTest& shard) {
  std::vector<std::string> out;
  for (const IssueEvent& e : shard.outputs().events) {
    if (e.type != EventType::kIssueFound && e.type != EventType::kIssueResolved) continue;
    out.push_back(Cat(e.type == EventType::kIssueFound ? "found " : "resolved ", e.alert, " at ",
                      (e.time.ns() - ShardForTest::kBase) / kNanosPerSecond));
  }
  return out;
}

TEST(OwnSeriesTest, AttemptCountsFromItsStartInEventTime) {
  ShardForTest shard(kAttempts);
  for (const SourceBatch& sent : ThreeAttempts()) Send(&shard, sent);
  // The second boot starts at 100 s, but its first batch arrives just after the watermark has
  // passed 100 s.
  EXPECT_THAT(Issues(shard),
              ElementsAre("found Few at 1", "found Second at 101", "resolved Second at 131",
                          "found Begun at 131", "found Loop at 131", "resolved Loop at 150",
                          "resolved Few at 255"));
}

TEST(OwnSeriesTest, ExplicitAttemptNumbersAreKept) {
  ShardForTest shard(kAttempts);
  for (int t = 1; t <= 10; ++t)
    Send(&shard, {.source = "rank-0", .attempt = 0, .at = t * 1.0, .goodbye = t == 10});
  EXPECT_THAT(Issues(shard), ElementsAre("found Few at 1"));
  for (int t = 11; t <= 20; ++t)
    Send(&shard, {.source = "rank-0", .boot = "b", .start = 10, .attempt = 7, .at = t * 1.0});
  EXPECT_THAT(Issues(shard), ElementsAre("found Few at 1", "found Seventh at 11"));
}

TEST(OwnSeriesTest, JobWithoutAttemptHasNoAttemptSeries) {
  ShardForTest shard(kAttempts);
  for (int t = 1; t <= 100; ++t) Send(&shard, {.source = "node", .at = t * 1.0});
  EXPECT_THAT(Issues(shard), IsEmpty());
  EXPECT_THAT(shard.Events(), Contains("status NoData Second no series of pitwall_job_attempt"));
}

// The series are repeated until the job ends, even if only clock ticks arrive.
TEST(OwnSeriesTest, SeriesAreRepeatedWhileSourcesAreSilent) {
  ShardForTest shard(kAttempts);
  for (int t = 1; t <= 30; ++t) Send(&shard, {.source = "rank-0", .at = t * 1.0});
  shard.SetAppendTime(31);
  for (int t = 0; t < 1200; ++t) shard.Tick();
  EXPECT_THAT(Issues(shard), ElementsAre("found Few at 1", "resolved Few at 285"));
  ASSERT_EQ(shard.shard().jobs().All().size(), 1U);
}

TEST(OwnSeriesTest, RestartsAndArrivalOrderDoNotChangeEvents) {
  ShardForTest reference(kAttempts);
  for (const SourceBatch& sent : ThreeAttempts()) Send(&reference, sent);
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(Cat("seed ", seed));
    std::mt19937 random(seed);
    ShardForTest shard(kAttempts);
    std::vector<SourceBatch> sent = ThreeAttempts();
    // Within each shuffled section, batches from one source arrive a few seconds before batches
    // from the other source, so the watermark advances in different increments. The first batch of
    // a boot is not shuffled.
    for (size_t i = 2; i + 12 < sent.size(); i += 2 * (1 + random() % 6)) {
      const auto from = sent.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::any_of(from, from + 12, [](const SourceBatch& s) { return s.at == s.start + 1; }))
        continue;
      std::stable_partition(from, from + 12, [first = random() % 2 == 0](const SourceBatch& s) {
        return (s.source == "node") == first;
      });
    }
    for (const SourceBatch& s : sent) {
      Send(&shard, s);
      if (random() % 20 == 0) shard.Restart();
    }
    EXPECT_EQ(shard.Events(), reference.Events());
    EXPECT_EQ(Issues(shard), Issues(reference));
  }
}

TEST(OwnSeriesTest, RulesAddedLaterSeeExistingSeries) {
  ShardForTest shard("groups: [{name: g, interval: 1s, rules: [{alert: A, expr: other > 1}]}]\n");
  for (int t = 1; t <= 31; ++t) Send(&shard, {.source = "rank-0", .attempt = 7, .at = t * 1.0});
  shard.ChangeRules(kAttempts);
  for (int t = 32; t <= 34; ++t) Send(&shard, {.source = "rank-0", .attempt = 7, .at = t * 1.0});
  EXPECT_THAT(Issues(shard), Contains("found Seventh at 32"));
}

// A flag that is cleared before the watermark advances must not remain visible for the whole
// lookback period.
TEST(OwnSeriesTest, FlagClearedImmediately_DoesNotPersist) {
  ShardForTest shard(R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Wrong, expr: "pitwall_source_flagged == 1"}
)rules");
  for (int t = 1; t <= 20; ++t) {
    Send(&shard, {.source = "other", .at = t * 1.0});
    Send(&shard, {.source = "node", .at = t * 1.0});
  }
  const Schema schema = SchemaOf({{Labels({{kMetricName, "m"}}), SeriesKind::kGauge}});
  const auto row = [&](double time) {
    const int64_t times[] = {ShardForTest::At(time)};
    const double values[] = {1};
    Batch batch;
    batch.source = "node";
    batch.schemas.push_back(schema);
    batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
    shard.SetAppendTime(21);
    shard.Feed(batch, 20);
    shard.SetAppendTime(-1);
  };
  row(3600);
  row(20.5);
  for (int t = 21; t <= 25; ++t) {
    Send(&shard, {.source = "other", .at = t * 1.0});
    Send(&shard, {.source = "node", .at = t * 1.0});
  }
  EXPECT_THAT(Issues(shard), IsEmpty());
}

}  // namespace
}  // namespace pitwall::engine
