#include "services/engine/sources/source_table.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/engine/sources/job_input.h"

namespace pitwall::engine {
namespace {

EventTime At(int64_t ns) { return EventTime::FromNs(ns); }

class SourceTableTest : public ::testing::Test {
 protected:
  static Batch BatchOf(int64_t rank, const std::string& boot = "b") {
    Batch batch;
    batch.source = Cat("rank-", rank);
    batch.boot_id = boot;
    batch.info.kind = SourceKind::kRank;
    batch.info.rank = rank;
    batch.info.node = Cat("node-", rank);
    return batch;
  }
  Source* Live(int64_t rank, int64_t promise) {
    Source* source = sources().FindOrAdd(BatchOf(rank)).source;
    sources().Change(source, [promise](Source* s) {
      s->promise = At(promise);
      s->live = true;
    });
    return source;
  }
  static RankLost LossOf(const Source& source) {
    RankLost lost;
    lost.source = source.id;
    lost.boot_id = source.boot;
    return lost;
  }
  SourceTable& sources() { return input_.sources(); }

  EngineOptions options_ = [] {
    EngineOptions options;
    options.max_sources_per_job = 3;
    return options;
  }();
  JobIdentity job_;
  EngineCounters counters_;
  LimitReport limits_{options_, &job_, &counters_};
  JobClock clock_{options_};
  JobInput input_{options_, &clock_, &limits_, &counters_};
};

TEST_F(SourceTableTest, HugeIntervalDoesNotOverflow) {
  Batch batch = BatchOf(0);
  batch.info.kind = SourceKind::kForeign;
  batch.info.interval = Duration::Nanos(INT64_MAX);
  const Source* source = sources().FindOrAdd(batch).source;
  EXPECT_EQ(source->IdleAfter(options_), Duration::Days(3));
}

TEST_F(SourceTableTest, FindOrAdd_AddsBootOnce) {
  const auto [source, fresh] = sources().FindOrAdd(BatchOf(0));
  EXPECT_TRUE(fresh);
  EXPECT_FALSE(sources().FindOrAdd(BatchOf(0)).fresh);
  EXPECT_EQ(sources().Find("rank-0", "b"), source);
  EXPECT_EQ(sources().Find("rank-0", "c"), nullptr);
}

TEST_F(SourceTableTest, TooManySources_AreRejectedAndCounted) {
  for (int64_t rank = 0; rank < 3; ++rank) sources().FindOrAdd(BatchOf(rank));
  EXPECT_EQ(sources().FindOrAdd(BatchOf(3)).source, nullptr);
  EXPECT_EQ(counters_.drops[static_cast<size_t>(Drop::kLimit)], 1U);
  EXPECT_EQ(job_.limit_reason, "more than 3 sources");
}

TEST_F(SourceTableTest, Change_UpdatesMinimumPromise) {
  Live(0, 50);
  Source* slow = Live(1, 40);
  EXPECT_EQ(sources().order().LeastPromise(), At(40));
  sources().Change(slow, [](Source* s) { s->promise = At(60); });
  EXPECT_EQ(sources().order().LeastPromise(), At(50));
  sources().End(slow, At(60));
  EXPECT_EQ(sources().CountLive(), 1U);
  EXPECT_EQ(sources().order().NewestPromise(), At(50));
}

TEST_F(SourceTableTest, ReportLoss_OtherNode_IsRejected) {
  Source* lost = Live(0, 10);
  Source* other = Live(1, 20);
  EXPECT_FALSE(sources().ReportLoss(*other, LossOf(*lost)));
  EXPECT_EQ(sources().order().LeastPromise(), At(10));
  EXPECT_TRUE(sources().ReportLoss(*lost, LossOf(*lost)));
  EXPECT_EQ(sources().order().LeastPromise(), At(20));
}

TEST_F(SourceTableTest, RemovedSource_LeavesOrderAndReleasesMemory) {
  const size_t before = sources().memory().total();
  Source* source = Live(0, 10);
  EXPECT_GT(sources().memory().total(), before);
  EXPECT_TRUE(sources().Expired().empty());
  sources().Change(source, [](Source* s) { s->live = false; });
  source->silence.idle = options_.ends.silence + Duration::Nanos(1);
  ASSERT_EQ(sources().Expired().size(), 1U);
  sources().Remove(source);
  EXPECT_EQ(sources().memory().total(), before);
  EXPECT_EQ(sources().order().LeastPromise(), EventTime::Earliest());
}

TEST_F(SourceTableTest, Restore_CountsWaitingData) {
  Source* source = Live(0, 10);
  PendingFrame frame;
  frame.schema_id = 7;
  frame.times = {At(20)};
  frame.values = {1.0};
  sources().Change(source, [&](Source* s) { input_.frames().Add(frame, s); });
  input_.schedule().AddOwn(At(30), 0, {.kind = TimelineEvent::Kind::kGraceOver});
  BinaryWriter writer;
  input_.Save(writer);
  const auto bytes = writer.Take();
  JobInput restored(options_, &clock_, &limits_, &counters_);
  BinaryReader reader(bytes);
  ASSERT_TRUE(restored.Restore(reader, 7).ok());
  EXPECT_EQ(restored.sources().memory().total(), sources().memory().total());
  EXPECT_EQ(restored.sources().order().LeastPromise(), sources().order().LeastPromise());
}

TEST_F(SourceTableTest, TakenRows_AreOrderedAndReleaseMemory) {
  Source* source = sources().FindOrAdd(BatchOf(0)).source;
  Schema schema;
  schema.id = 7;
  schema.series.push_back({Labels({{kMetricName, "m"}}), SeriesKind::kGauge});
  input_.frames().AddSchemas({SharedSchema(schema)}, source);
  const size_t before = sources().memory().total();
  for (const int64_t time : {30, 20}) {
    PendingFrame frame;
    frame.schema_id = 7;
    frame.times = {At(time)};
    frame.values = {1.0};
    sources().Change(source, [&](Source* s) { input_.frames().Add(frame, s); });
  }
  const auto due = sources().order().WithRowsUpTo(At(30));
  const std::vector<RowRef> rows = FrameQueue::TakeRows(due, At(30));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].time, At(20));
  EXPECT_EQ(rows[1].time, At(30));
  sources().Change(source, [&](Source* s) { input_.frames().RemoveTaken(s); });
  EXPECT_EQ(sources().memory().total(), before);
  EXPECT_TRUE(sources().order().WithRowsUpTo(At(30)).empty());
}

}  // namespace
}  // namespace pitwall::engine
