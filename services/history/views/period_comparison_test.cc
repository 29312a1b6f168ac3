// Compares peer medians in groups of all sizes against their definition, and tests the order of
// series with equal effects.
#include "services/history/views/period_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "services/base/text/strings.h"
#include "services/history/testing/vector_history.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

using ::testing::SizeIs;

// Runs the comparison for seconds [40, 50) of the job "j".
Differences Differing(const VectorHistory& history, size_t most) {
  DifferenceQuery query;
  auto life = std::make_shared<JobOverview>();
  life->id = "j";
  query.job = life;
  query.range = {AtSecond(40), AtSecond(50)};
  query.most = most;
  return *FindDifferences(history, query);
}

TEST(GroupDifferences, PeersAreOtherMembersForAllGroupSizes) {
  std::mt19937_64 random(5);
  for (const size_t size : {2, 3, 4, 5, 6, 7, 16, 17, 64, 255, 256, 257, 300}) {
    for (const bool ties : {false, true}) {
      SCOPED_TRACE(Cat(size, ties ? " with ties" : ""));
      VectorHistory history;
      std::map<int64_t, double> means;  // mean of each rank
      history.Edit("j", [&](auto* job) {
        for (size_t rank = 0; rank < size; ++rank) {
          const auto value =
              ties ? static_cast<double>(random() % 3)
                   : static_cast<double>(random() % 1'000'000) / 7 - static_cast<double>(size);
          means[static_cast<int64_t>(rank)] = value;
          job->columns.push_back(VectorHistory::ColumnOf({{"__name__", "m"}, {"rank", Cat(rank)}},
                                                         {10, 45}, {value + 1, value}));
        }
      });
      const Differences found = Differing(history, 1000);
      ASSERT_THAT(found.differences, SizeIs(size));
      for (const Difference& one : found.differences) {
        const int64_t rank = *ParseInt(one.labels.Get("rank"));
        ASSERT_EQ(one.mean, means[rank]);
        std::vector<double> others;
        for (const auto& [other, mean] : means) {
          // In large groups, the median includes all members.
          if (other != rank || size > 256) others.push_back(mean);
        }
        const double median = MedianOf(others);
        const double deviation = MedianDeviation(others, median);
        const double distance = std::fabs(one.mean - median);
        const double scale = std::max(1.4826 * deviation, 0.01 * std::fabs(median));
        ASSERT_EQ(one.peer_count, size - 1);
        ASSERT_EQ(one.peers, median);
        ASSERT_EQ(one.peers_effect, distance == 0 ? 0 : std::min(distance / scale, 1000.0));
      }
    }
  }
}

TEST(GroupDifferences, EqualEffectsAreOrderedByLabels) {
  VectorHistory history;
  history.Edit("j", [&](auto* job) {
    for (const int i : {7, 3, 9, 1, 5, 0, 8, 2, 6, 4}) {
      // These series have no peers. One series has a larger difference than the others.
      const double value = i == 8 ? 500 : 20;
      job->columns.push_back(VectorHistory::ColumnOf({{"__name__", Cat("m", i)}}, {10, 20, 30, 45},
                                                     {10, 12, 11, value}));
    }
  });
  std::vector<std::string> names;
  const Differences found = Differing(history, 5);
  for (const Difference& one : found.differences) names.emplace_back(one.labels.Name());
  EXPECT_THAT(names, ::testing::ElementsAre("m8", "m0", "m1", "m2", "m3"));
  EXPECT_EQ(found.compared, 10U);
}

}  // namespace
}  // namespace pitwall::history
