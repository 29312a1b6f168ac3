#include "services/insights/keep/keep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/insights/keep/keep_for_test.h"

namespace pitwall::insights {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kS = kNanosPerSecond;

// 2 ranks, 3 steps: right while memory is all there is, and to the bit the same after a start.
TEST_F(KeepTest, AnswersTheSmallestJobFromMemoryAndAfterAStart) {
  Open();
  Changed(JobChange::kStarted, kBegin);
  Changed(JobChange::kAttemptBegan, kBegin);
  for (int64_t rank = 0; rank < 2; ++rank) {
    const Schema schema =
        SchemaOf(1, {{{"__name__", "train_loss"}, {"rank", Cat(rank)}, {"node", "node-1"}}});
    for (int64_t step = 0; step < 3; ++step) {
      OwnedBatch b(Cat("rank-", rank), static_cast<uint64_t>(step) + 1, rank);
      if (step == 0) b.batch.schemas.emplace_back(schema);
      const int64_t end = kBegin + (step + 1) * kS + rank;
      b.Rows(schema, {end}, {1.0 / static_cast<double>(step + 1 + rank)}, {step}, "train");
      b.batch.spans.push_back({Span::Kind::kStep, "", end - kS, end, step, "train"});
      Send(b.batch);
    }
  }
  Changed(JobChange::kAttemptEnded, kBegin + 5 * kS, 1, EndDetail::kCompleted);
  Changed(JobChange::kEnded, kBegin + 5 * kS, 1, EndDetail::kCompleted);
  Await();
  for (const bool again : {false, true}) {
    if (again) {
      Close();
      Open();
    }
    SCOPED_TRACE(again ? "after a start" : "from memory");
    const auto jobs = history().Jobs();
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0]->samples, 6U);
    EXPECT_EQ(jobs[0]->end_detail, EndDetail::kCompleted);
    ASSERT_THAT(jobs[0]->attempts, SizeIs(1));
    EXPECT_EQ(jobs[0]->attempts[0].first_step_ns, kBegin);
    EXPECT_EQ(jobs[0]->attempts[0].last_step_ns, kBegin + 3 * kS + 1);
    SampleQuery query;
    query.job = "job-1";
    query.selectors = {NameIs("train_loss")};
    query.mode = "train";
    query.from_step = 1;
    const auto samples = history().Samples(query);
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_THAT(*samples, SizeIs(2));
    EXPECT_THAT((*samples)[0].values, ElementsAre(1.0 / 2, 1.0 / 3));
    EXPECT_THAT((*samples)[1].values, ElementsAre(1.0 / 3, 1.0 / 4));
    EXPECT_THAT((*samples)[1].steps, ElementsAre(1, 2));
    EXPECT_THAT((*samples)[1].times_ns, ElementsAre(kBegin + 2 * kS + 1, kBegin + 3 * kS + 1));
    const auto rollups = history().Rollups(query, 0);
    ASSERT_TRUE(rollups.ok()) << rollups.status();
    ASSERT_THAT((*rollups)[0].rows, SizeIs(1));
    EXPECT_EQ((*rollups)[0].rows[0].sum, 1.0 + 1.0 / 2 + 1.0 / 3);
    EXPECT_EQ((*rollups)[0].rows[0].count, 3U);
    SpanQuery spans;
    spans.job = "job-1";
    spans.ranks = {1};
    const auto found = history().Spans(spans);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(*found, SizeIs(3));
    const auto totals = history().Operators(spans);
    ASSERT_TRUE(totals.ok()) << totals.status();
    ASSERT_THAT(*totals, SizeIs(1));
    EXPECT_EQ((*totals)[0].total_ns, 3 * kS);
    const auto events = history().Events("job-1");
    ASSERT_TRUE(events.ok()) << events.status();
    EXPECT_THAT(*events, SizeIs(4));
  }
}

}  // namespace
}  // namespace pitwall::insights
