#include "services/engine/rules/rank_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr char kOfOneRank[] = R"rules(
  - {alert: A, expr: train_loss != train_loss}
  - {alert: B, expr: "max by (rank) (train_loss) > 1"}
  - {alert: C, expr: "max without (layer) (train_loss) > 1"}
  - {alert: D, expr: "train_loss > 2 * avg_over_time(train_loss[10])"}
)rules";

constexpr char kOfAllRanks[] = R"rules(
  - {alert: A, expr: "count(train_loss) < 2"}
  - {alert: B, expr: "train_loss > on () group_left () 2 * avg without (rank) (train_loss)"}
  - {alert: C, expr: "topk(1, train_loss) > 1"}
  - {alert: D, expr: "absent(train_loss)"}
  - {alert: E, expr: "vector(time()) > 100"}
  - {alert: F, expr: "train_loss > scalar(train_loss)"}
)rules";

constexpr char kRecordings[] = R"rules(
  - {record: job:loss:mean, expr: avg without (rank) (train_loss)}
  - {record: rank:loss:last, expr: train_loss + 0}
  - {alert: A, expr: "train_loss unless on () job:loss:mean > 3"}
  - {alert: B, expr: "rank:loss:last > 1"}
)rules";

std::vector<bool> Across(std::string_view rules) {
  const plan::ProgramPtr program =
      ProgramForTest(Cat("groups:\n- name: g\n  clock: step\n  interval: 1\n  rules:\n", rules));
  return RulesAcrossRanks(program->domains.back()).at(0);
}

TEST(RulesAcrossRanks, AggregationKeepsRank_RuleIsPerRank) {
  EXPECT_THAT(Across(kOfOneRank), ElementsAre(false, false, false, false));
}

TEST(RulesAcrossRanks, AggregationDropsRank_RuleIsAcrossRanks) {
  EXPECT_THAT(Across(kOfAllRanks), ElementsAre(true, true, true, true, true, true));
}

TEST(RulesAcrossRanks, ReaderOfCombinedSeries_IsAcrossRanks) {
  EXPECT_THAT(Across(kRecordings), ElementsAre(true, false, true, false));
}

}  // namespace
}  // namespace pitwall::engine
