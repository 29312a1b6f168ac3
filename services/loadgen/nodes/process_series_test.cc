#include "services/loadgen/nodes/process_series.h"

#include <gtest/gtest.h>

#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

TEST(ProcessSeries, EachRankHasTwoSeries) {
  ProcessSeries processes(1, "n1");
  const std::vector<int64_t> ranks = {3, 4};
  const std::vector<double> leaked = {0, 1 << 20};
  NodeMood mood;
  mood.ranks = ranks;
  mood.leaked_bytes = leaked;
  processes.Sample({1, 1, 0}, mood);
  EXPECT_EQ(processes.stream().width(), 4U);
  const std::vector<double>& values = processes.stream().values();
  ASSERT_EQ(values.size(), 4U);
  EXPECT_GT(values[0], 40) << "CPU seconds increase";
  EXPECT_EQ(values[1], Pages(values[1])) << "memory is whole pages";
}

TEST(ProcessSeries, ChangedRanks_EarlierRowsGetMissingValues) {
  ProcessSeries processes(1, "n1");
  const std::vector<int64_t> ranks = {3, 4};
  const std::vector<double> leaked = {0, 0};
  NodeMood mood;
  mood.ranks = ranks;
  mood.leaked_bytes = leaked;
  processes.Sample({1, 1, 0}, mood);
  mood.ranks = std::span(ranks).first(1);
  processes.Sample({2, 1, 1}, mood);
  EXPECT_EQ(processes.stream().width(), 2U);
  const std::vector<double>& values = processes.stream().values();
  ASSERT_EQ(values.size(), 4U);
  EXPECT_TRUE(IsMissing(values[0]));
  EXPECT_TRUE(IsMissing(values[1]));
  EXPECT_GT(values[2], 40);
}

}  // namespace
}  // namespace pitwall::loadgen
