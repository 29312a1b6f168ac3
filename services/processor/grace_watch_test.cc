// Tests for the log lines about a job that may still restart after its attempt died (issue 10, A6).
#include "services/processor/grace_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::processor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GraceWatchTest : public ::testing::Test {
 protected:
  void Say(int64_t at, bool lost = false) {
    Batch batch;
    batch.source = "rank-0";
    batch.boot_id = boot_;
    batch.info.kind = SourceKind::kRank;
    batch.info.node = "n1";
    batch.info.rank = 0;
    batch.info.start = EventTime::FromNs(engine::ShardForTest::At(static_cast<double>(start_)));
    if (lost) {
      JobEvent event;
      event.kind = JobEvent::Kind::kRankLost;
      event.time = EventTime::FromNs(engine::ShardForTest::At(static_cast<double>(at)));
      event.rank_lost = {.rank = 0, .source = batch.source, .boot_id = batch.boot_id};
      batch.events.push_back(std::move(event));
    }
    shard_.Feed(std::move(batch), static_cast<double>(at));
  }
  void Node(int64_t at) {
    Batch batch;
    batch.source = "node";
    shard_.Feed(std::move(batch), static_cast<double>(at));
  }
  std::vector<std::string> Look() { return watch_.Look(shard_.shard().jobs().All()); }

  engine::ShardForTest shard_{
      "groups: [{name: g, interval: 1s, rules: [{alert: High, expr: m > 0.5}]}]\n"};
  GraceWatch watch_;
  std::string boot_ = "one";
  int64_t start_ = 1;
};

TEST_F(GraceWatchTest, JobDied_LogsImmediatelyAndEvery30Seconds) {
  Say(1);
  Node(1);
  Say(10);
  Node(10);
  EXPECT_THAT(Look(), IsEmpty());
  Say(11, /*lost=*/true);
  Node(11);
  EXPECT_THAT(Look(),
              ElementsAre("job \"job\": attempt 1 died; over in 120 s unless a rank returns"));
  EXPECT_EQ(watch_.waiting(), 1u);
  Node(34);
  EXPECT_THAT(Look(), IsEmpty());
  Node(42);
  EXPECT_THAT(Look(),
              ElementsAre("job \"job\": attempt 1 died; over in 89 s unless a rank returns"));
  boot_ = "two";  // the job restarts and dies again, which starts a new countdown
  start_ = 50;
  Say(50);
  Node(50);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(watch_.waiting(), 0u);
  Say(60, /*lost=*/true);
  Node(60);
  EXPECT_THAT(Look(),
              ElementsAre("job \"job\": attempt 2 died; over in 120 s unless a rank returns"));
  Node(200);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(watch_.waiting(), 0u);
}

}  // namespace
}  // namespace pitwall::processor
