#include "services/collector/ranks/retained_ranks.h"

#include <gtest/gtest.h>

#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/publishing/publisher.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

class RetainedRanksTest : public ::testing::Test {
 protected:
  void Add(const std::string& owner, const std::string& source, const std::string& boot_id,
           int64_t pid = 0) {
    RankSource::Identity identity;
    identity.job = "job-" + owner;
    identity.owner = owner;
    identity.source = source;
    identity.boot_id = boot_id;
    identity.process.self.pid = pid;
    ranks_.Add(std::make_unique<RankSource>(std::move(identity), &sender_, &counters_));
  }
  std::vector<std::string> Boots() const {
    std::vector<std::string> boots;
    for (const auto& rank : ranks_.ranks()) boots.push_back(rank->identity().boot_id);
    return boots;
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  ClientCursors cursors_;
  Publisher publisher_{{}, clock_, &appender_, &counters_, &cursors_};
  BatchSender sender_{&publisher_};
  RetainedRanks ranks_{3};
};

TEST_F(RetainedRanksTest, ExcessRank_EvictsOldestOfLargestOwner) {
  Add("a", "rank-0", "a0");
  Add("b", "rank-0", "b0");
  Add("b", "rank-1", "b1");
  Add("b", "rank-2", "b2");
  EXPECT_EQ(Boots(), (std::vector<std::string>{"a0", "b1", "b2"}));
}

TEST_F(RetainedRanksTest, TakeBack_ReturnsMatchingRankOnce) {
  Add("a", "rank-0", "a0");
  const auto same = [](const RankSource& rank) { return rank.identity().boot_id == "a0"; };
  EXPECT_TRUE(ranks_.Has("job-a"));
  EXPECT_NE(ranks_.TakeBack(same), nullptr);
  EXPECT_EQ(ranks_.TakeBack(same), nullptr);
  EXPECT_FALSE(ranks_.Has("job-a"));
}

TEST_F(RetainedRanksTest, TakeOtherBoots_KeepsBootAndOtherSources) {
  Add("a", "rank-0", "old");
  Add("a", "rank-0", "new");
  Add("a", "rank-1", "other");
  const auto taken = ranks_.TakeOtherBoots("job-a", "rank-0", "new");
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0]->identity().boot_id, "old");
  EXPECT_EQ(Boots(), (std::vector<std::string>{"new", "other"}));
}

TEST_F(RetainedRanksTest, TakeEnded_ReturnsRanksWhoseProcessEnded) {
  Add("a", "rank-0", "gone", /*pid=*/4242);
  Add("a", "rank-1", "unknown");
  root_.Write("proc/stat", "");
  ProcessWatch processes(root_.path());
  const auto ended = ranks_.TakeEnded(&processes);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].source->identity().boot_id, "gone");
  EXPECT_EQ(Boots(), std::vector<std::string>{"unknown"});
}

}  // namespace
}  // namespace pitwall::collector
