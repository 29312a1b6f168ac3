#include "services/history/series_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;

TEST(SeriesTable, PeersDifferOnlyInRankNodeGpuAndCpu) {
  const SeriesTablePtr table = MakeSeriesTable({
      {{{"__name__", "a"}, {"mode", "user"}, {"rank", "0"}, {"node", "x"}}},
      {{{"__name__", "a"}, {"mode", "user"}, {"rank", "1"}, {"node", "x"}}},
      {{{"__name__", "a"}, {"mode", "idle"}, {"rank", "0"}, {"node", "x"}}},
      {{{"__name__", "b"}, {"mode", "user"}, {"rank", "0"}, {"node", "x"}}},
      {{{"__name__", "a"}, {"mode", "user"}, {"gpu", "0"}, {"cpu", "3"}}},
      {{{"__name__", "a"}, {"mode", "user"}}},
      {{{"__name__", "a"}, {"mode", "user"}, {"gpus", "0"}}},
      {{{"__name__", "a"}}},
  });
  EXPECT_THAT(table->groups, ElementsAre(0, 0, 1, 2, 0, 0, 3, 4));
  EXPECT_EQ(table->group_count, 5U);
  EXPECT_EQ(table->series.size(), 8U);
  EXPECT_EQ(MakeSeriesTable({})->group_count, 0U);
}

}  // namespace
}  // namespace pitwall::history
