// Tests ranks between their goodbye and the exit of their process.
#include "services/collector/ranks/leaving_ranks.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/ranks/testing/decode.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kRank = 4242;

class LeavingRanksTest : public ::testing::Test {
 protected:
  LeavingRanksTest()
      : publisher_(OptionsOf(), clock_, &appender_, &counters_, &cursors_), sender_(&publisher_) {
    EXPECT_TRUE(publisher_.Start().ok());
    State('R', 0);
  }
  ~LeavingRanksTest() override { publisher_.Stop(); }
  static PublisherOptions OptionsOf() {
    PublisherOptions options;
    options.topic = "t";
    return options;
  }
  void State(char state, int status) {
    std::string stat =
        Cat(kRank, " (rank) ", std::string(1, state), " 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777");
    for (int field = 23; field < 52; ++field) CatTo(stat, state == 'Z' ? " 0" : " 4096");
    root_.Write(Cat("proc/", kRank, "/stat"), Cat(stat, " ", status, "\n"));
  }
  void Add(bool exiting) {
    RankSource::Identity identity;
    identity.job = "job-1";
    identity.source = "rank-0@n1";
    identity.boot_id = "b";
    identity.info.kind = SourceKind::kRank;
    identity.info.start = EventTime::FromNs(clock_.WallNs());
    identity.process = processes_.Begin({.pid = kRank, .uid = 0, .pod = ""});
    ranks_.Add({.source = std::make_unique<RankSource>(std::move(identity), &sender_, &counters_),
                .farewell =
                    {.reason = "completed", .exception = "", .exiting = exiting, .exit_status = {}},
                .client = 1,
                .since_ns = 0});
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  ClientCursors cursors_;
  Publisher publisher_;
  BatchSender sender_;
  ProcessWatch processes_{root_.path()};
  LeavingRanks ranks_;
};

TEST_F(LeavingRanksTest, ProcessEnds_ReturnsItsStatus) {
  for (const int status : {0, 3 << 8}) {
    State('R', 0);
    Add(/*exiting=*/true);
    EXPECT_TRUE(ranks_.TakeDone(&processes_, 1).empty());
    EXPECT_TRUE(ranks_.Has("job-1"));
    State('Z', status);
    const auto done = ranks_.TakeDone(&processes_, 2);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].end.exit_code, status >> 8);
    EXPECT_FALSE(ranks_.Has("job-1"));
  }
}

TEST_F(LeavingRanksTest, SlowTeardown_SendsGoodbyeBeforeStatusIsKnown) {
  Add(/*exiting=*/true);
  EXPECT_TRUE(ranks_.TakeDone(&processes_, LeavingRanks::kSendWithinNs).empty());
  EXPECT_TRUE(ranks_.TakeDone(&processes_, 2 * LeavingRanks::kSendWithinNs).empty());
  appender_.AwaitRecords(1);
  State('Z', 11);
  auto done = ranks_.TakeDone(&processes_, 3 * LeavingRanks::kSendWithinNs);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].end.signal, 11);
  const int64_t at = clock_.WallNs() + LeavingRanks::kSendWithinNs;
  done[0].leaving.source->Failed(at, "", done[0].end);
  appender_.AwaitRecords(2);
  const auto batches = DecodeAll(appender_.records());
  EXPECT_TRUE(batches[0].goodbye && batches[0].events.empty());
  ASSERT_EQ(batches[1].events.size(), 1u);
  EXPECT_EQ(batches[1].events[0].rank_lost.signal, 11);
  EXPECT_EQ(batches[1].events[0].time.ns(), at);
  EXPECT_EQ(batches[1].promise_ns, at);
}

TEST_F(LeavingRanksTest, RunningProcess_GoodbyeDeterminesVerdict) {
  Add(/*exiting=*/false);
  EXPECT_TRUE(ranks_.TakeDone(&processes_, LeavingRanks::kFinishedWithinNs - 1).empty());
  const auto done = ranks_.TakeDone(&processes_, LeavingRanks::kFinishedWithinNs);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_FALSE(done[0].end.exit_code.has_value());
}

TEST_F(LeavingRanksTest, Exec_CountsAsStatusZero) {
  Add(/*exiting=*/true);
  std::string stat = Cat(kRank, " (other) R 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777");
  for (int field = 23; field < 53; ++field) CatTo(stat, " 8192");
  root_.Write(Cat("proc/", kRank, "/stat"), Cat(stat, "\n"));
  const auto done = ranks_.TakeDone(&processes_, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].end.exit_code, 0);
}

}  // namespace
}  // namespace pitwall::collector
