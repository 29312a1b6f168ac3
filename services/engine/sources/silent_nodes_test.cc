// Tests for a node that stops sending data while other nodes continue (pitwall_node_silent_ranks).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kSilentNodeRules[] = R"rules(
groups:
- name: g
  interval: 500ms
  rules:
  - {alert: Silent, expr: pitwall_node_silent_ranks > 0}
)rules";

class SilentNodesTest : public ::testing::Test {
 protected:
  void Send(const std::string& node, int64_t rank, double at, bool goodbye = false) {
    Batch batch;
    batch.source = rank < 0 ? Cat("node@", node) : Cat("rank-", rank);
    batch.info.kind = rank < 0 ? SourceKind::kNode : SourceKind::kRank;
    batch.info.node = node;
    batch.info.rank = rank;
    batch.goodbye = goodbye;
    shard_.Feed(batch, at);
  }
  // Feeds one second of data from two nodes with two ranks each. `active` controls whether node b
  // sends data.
  void Second(double at, bool active) {
    Send("a", -1, at);
    for (int64_t rank : {0, 1}) Send("a", rank, at);
    if (active) {
      Send("b", -1, at);
      for (int64_t rank : {2, 3}) Send("b", rank, at);
    }
    shard_.SetAppendTime(at);
    shard_.Tick();
  }
  void Seconds(int from, int to, bool active) {
    for (int at = from; at < to; ++at) Second(at, active);
  }
  // Returns issue events in order, such as "found b 2 at 19.5".
  std::vector<std::string> Issues() const {
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type != EventType::kIssueFound && e.type != EventType::kIssueResolved) continue;
      out.push_back(Cat(e.type == EventType::kIssueFound ? "found " : "resolved ",
                        e.labels.Get("node"), " ", e.value, " at ",
                        static_cast<double>(e.time.ns() - ShardForTest::kBase) / 1e9));
    }
    return out;
  }

  ShardForTest shard_{kSilentNodeRules};
};

// The silence is reported within eight seconds with the time of the last data, and is resolved when
// the node returns.
TEST_F(SilentNodesTest, NodeSilenceAndReturnAreReported) {
  Seconds(1, 20, true);
  EXPECT_THAT(Issues(), IsEmpty());
  Seconds(20, 25, false);
  EXPECT_THAT(Issues(), IsEmpty());
  Seconds(25, 28, false);
  EXPECT_THAT(Issues(), ElementsAre("found b 2 at 19.5"));
  shard_.Restart();
  Seconds(28, 40, false);
  Seconds(40, 43, true);
  EXPECT_THAT(Issues(), ElementsAre("found b 2 at 19.5", "resolved b 2 at 40.5"));
}

TEST_F(SilentNodesTest, ActiveRankOrCollectorKeepsNodeActive) {
  Seconds(1, 20, true);
  for (int at = 20; at < 40; ++at) {
    Send("b", 3, at);
    Second(at, false);
  }
  for (int at = 40; at < 60; ++at) {
    Send("b", -1, at);
    Second(at, false);
  }
  EXPECT_THAT(Issues(), IsEmpty());
}

TEST_F(SilentNodesTest, NodeWithoutRunningRanksIsNotSilent) {
  Seconds(1, 20, true);
  for (int64_t rank : {2, 3}) Send("b", rank, 20, /*goodbye=*/true);
  Seconds(20, 40, false);
  EXPECT_THAT(Issues(), IsEmpty());
}

// The collector was stopped on purpose, and its ranks continue.
TEST_F(SilentNodesTest, NodeIsNotSilentAfterCollectorGoodbye) {
  Seconds(1, 20, true);
  Send("b", -1, 20, /*goodbye=*/true);
  Seconds(20, 40, false);
  EXPECT_THAT(Issues(), IsEmpty());
}

TEST_F(SilentNodesTest, AllNodesSilent_NoNodeIsReported) {
  Seconds(1, 20, true);
  for (int at = 20; at < 60; ++at) {
    shard_.SetAppendTime(at);
    shard_.Tick();
  }
  EXPECT_THAT(Issues(), IsEmpty());
}

}  // namespace
}  // namespace pitwall::engine
