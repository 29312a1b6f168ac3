// Tests for memory limits: a job cannot hold more than its share, reports the limit, and drops the
// same data in a replay.
#include "services/engine/sources/pending_bytes.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

constexpr char kStepRules[] = R"rules(
groups:
- name: g
  clock: step
  interval: 1
  rules:
  - {alert: HighLoss, expr: "avg_over_time(train_loss[10]) > 5"}
)rules";

constexpr size_t kLimit = 4 << 20;

EngineOptions SmallJobs() {
  EngineOptions options;
  options.max_job_bytes = kLimit;
  return options;
}

class HostileRank {
 public:
  explicit HostileRank(ShardForTest* shard) : shard_(shard) {
    schema_ =
        SchemaOf({{Labels({{kMetricName, "train_loss"}, {"rank", "0"}}), SeriesKind::kGauge}});
  }
  // Sends a loss for `rows` steps within one second, with time promises but without step promises.
  void LogSteps(int rows) {
    ++second_;
    std::vector<int64_t> times, steps;
    for (int i = 1; i <= rows; ++i) {
      times.push_back(ShardForTest::At(second_ - 1 + static_cast<double>(i) / rows));
      steps.push_back(++step_);
    }
    const std::vector<double> values(times.size(), 1.0);
    Batch batch = Rank();
    batch.info.step_modes = {"train"};
    batch.schemas.push_back(schema_);
    batch.frames.push_back({.schema_id = schema_.id,
                            .times = times,
                            .steps = steps,
                            .mode = "train",
                            .values = values});
    shard_->Feed(batch, second_);
  }
  Batch Rank() const {
    Batch batch;
    batch.source = "rank-0";
    batch.info.kind = SourceKind::kRank;
    batch.info.rank = 0;
    return batch;
  }
  const Schema& schema() const { return schema_; }
  double second() const { return second_; }

 private:
  ShardForTest* const shard_;
  Schema schema_;
  double second_ = 0;
  int64_t step_ = 0;
};

const Job& TheJob(ShardForTest& shard) { return *shard.shard().jobs().Find("job"); }

std::string LastError(const ShardForTest& shard) {
  std::string last;
  for (const std::string& event : shard.Events()) {
    if (event.find("status Error") == 0) last = event;
  }
  return last;
}

TEST(PendingBytes, StepsWithoutPromisesAreRejectedAboveLimit) {
  ShardForTest shard(kStepRules, SmallJobs());
  HostileRank rank(&shard);
  for (int i = 0; i < 100; ++i) rank.LogSteps(2000);
  // 200,000 rows would take about 20 MB. A growing vector may take twice its size.
  EXPECT_LT(TheJob(shard).MemoryBytes(), kLimit);
  EXPECT_GT(shard.drops(Drop::kLimit), 150'000U);
  EXPECT_THAT(LastError(shard), testing::HasSubstr("HighLoss"));
  EXPECT_THAT(LastError(shard), testing::HasSubstr("steps without promises"));
}

TEST(PendingBytes, RestartDropsSameData) {
  std::vector<std::string> events[2];
  uint64_t drops[2] = {};
  size_t held[2] = {};
  for (const bool restart : {false, true}) {
    ShardForTest shard(kStepRules, SmallJobs());
    HostileRank rank(&shard);
    for (int i = 0; i < 60; ++i) {
      rank.LogSteps(1000 + 13 * i);
      // One restart occurs before the limit is reached, and another afterward.
      if (restart && (i == 3 || i == 40)) {
        const uint64_t before = shard.drops(Drop::kLimit);
        shard.Restart();
        drops[1] += before;
      }
    }
    events[restart] = shard.Events();
    drops[restart] += shard.drops(Drop::kLimit);
    held[restart] = TheJob(shard).state().sources().memory().total();
  }
  EXPECT_EQ(events[0], events[1]);
  EXPECT_EQ(drops[0], drops[1]);
  EXPECT_EQ(held[0], held[1]);
  EXPECT_GT(drops[0], 0U);
}

// One source sends no promise for a minute while another source sends data. Each frame has a single
// sample, which takes less memory than the rest of the frame.
TEST(PendingBytes, RowsAboveStalledWatermarkAreBounded) {
  ShardForTest shard(kStepRules, SmallJobs());
  Batch silent;
  silent.source = "node-0";
  shard.Feed(silent, 1);
  HostileRank rank(&shard);
  for (int second = 2; second < 60; ++second) {
    for (int i = 0; i < 500; ++i) {
      const int64_t time = ShardForTest::At(second + i / 500.0);
      const double value = 1;
      Batch batch = rank.Rank();
      batch.schemas.push_back(rank.schema());
      batch.frames.push_back(
          {.schema_id = rank.schema().id, .times = {&time, 1}, .values = {&value, 1}});
      shard.Feed(batch, second);
    }
  }
  EXPECT_LE(TheJob(shard).state().sources().memory().total(), kLimit / 2);
  EXPECT_GT(shard.drops(Drop::kLimit), 0U);
  EXPECT_EQ(TheJob(shard).state().sources().memory().largest(), PendingKind::kSamples);
  // The watermark finally advances. The held data is applied, and its memory is released.
  shard.Feed(silent, 100);
  shard.Feed(rank.Rank(), 100);
  EXPECT_EQ(TheJob(shard).state().sources().memory().held(PendingKind::kSamples), 0U);
  EXPECT_THAT(LastError(shard), testing::HasSubstr("cannot be applied yet"));
}

TEST(PendingBytes, EventsAboveStalledWatermarkAreBounded) {
  ShardForTest shard(kStepRules, SmallJobs());
  Batch silent;
  silent.source = "node-0";
  shard.Feed(silent, 1);
  HostileRank rank(&shard);
  for (int i = 0; i < 5000; ++i) {
    Batch batch = rank.Rank();
    JobEvent notice;
    notice.kind = JobEvent::Kind::kNotice;
    notice.time = EventTime::FromNs(ShardForTest::At(2 + i / 100.0));
    notice.reason = std::string(500, 'x');
    batch.events.push_back(notice);
    batch.step_promises.push_back({"train", i});
    shard.Feed(batch, 2 + i / 100.0);
  }
  EXPECT_LE(TheJob(shard).state().sources().memory().total(), kLimit / 2 + 4096);
  EXPECT_EQ(TheJob(shard).state().sources().memory().largest(), PendingKind::kTimelineEvents);
  EXPECT_GT(shard.drops(Drop::kLimit), 0U);
}

TEST(PendingBytes, SchemasOfManySourcesAreBounded) {
  ShardForTest shard(kStepRules, SmallJobs());
  for (int source = 0; source < 40; ++source) {
    for (int i = 0; i < 20; ++i) {
      Batch batch;
      batch.source = Cat("node-", source);
      std::vector<SeriesDescriptor> series;
      for (int column = 0; column < 30; ++column) {
        series.push_back({Labels({{kMetricName, Cat("m", column)}, {"x", Cat(source, "/", i)}}),
                          SeriesKind::kGauge});
      }
      batch.schemas.push_back(SchemaOf(series));
      shard.Feed(batch, 1 + i);
    }
  }
  EXPECT_LE(TheJob(shard).state().sources().memory().total(), kLimit / 2);
  EXPECT_EQ(TheJob(shard).state().sources().memory().largest(), PendingKind::kSchemas);
  EXPECT_GT(shard.drops(Drop::kLimit), 0U);
}

TEST(PendingBytes, ModesOfOneSourceAreBounded) {
  ShardForTest shard(kStepRules, SmallJobs());
  HostileRank rank(&shard);
  for (int i = 0; i < 1000; ++i) {
    const int64_t time = ShardForTest::At(1 + i / 100.0);
    const int64_t step = i;
    const double value = 1;
    Batch batch = rank.Rank();
    batch.schemas.push_back(rank.schema());
    const std::string mode = Cat("mode-", i);
    batch.frames.push_back({.schema_id = rank.schema().id,
                            .times = {&time, 1},
                            .steps = {&step, 1},
                            .mode = mode,
                            .values = {&value, 1}});
    batch.step_promises.push_back({mode, i});
    shard.Feed(batch, 1 + i / 100.0);
  }
  EXPECT_GT(shard.drops(Drop::kLimit), 1500U);
  EXPECT_LT(shard.shard().Snapshot("job", LogOffset(1'000'000)).payload.size(), 20'000U);
}

}  // namespace
}  // namespace pitwall::engine
