#include "services/loadgen/nodes/gpu_series.h"

#include <gtest/gtest.h>

#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

TEST(GpuSeries, EachTickAddsOneRow) {
  GpuSeries gpus(2, 1, "n1");
  const size_t width = gpus.stream().width();
  gpus.Sample({1, 1, 0}, {});
  EXPECT_EQ(gpus.stream().values().size(), width);
  gpus.Sample({2, 1, 1}, {});
  EXPECT_EQ(gpus.stream().values().size(), 2 * width);
}

TEST(GpuSeries, SameSeedProducesSameValues) {
  GpuSeries one(2, 7, "n1"), same(2, 7, "n1"), other(2, 8, "n1");
  for (GpuSeries* gpus : {&one, &same, &other}) gpus->Sample({1, 1, 0}, {});
  EXPECT_EQ(one.stream().values(), same.stream().values());
  EXPECT_NE(one.stream().values(), other.stream().values());
}

TEST(GpuSeries, LostGpu_AddsErrorColumnToAllRows) {
  GpuSeries gpus(2, 1, "n1");
  const size_t width = gpus.stream().width();
  gpus.Sample({1, 1, 0}, {});
  NodeMood mood;
  mood.lost_gpu = 0;
  gpus.Sample({2, 1, 1}, mood);
  EXPECT_EQ(gpus.stream().width(), width + 1);
  const std::vector<double>& values = gpus.stream().values();
  ASSERT_EQ(values.size(), 2 * (width + 1));
  const size_t column = width / 2;  // after the columns of the first GPU
  EXPECT_TRUE(IsMissing(values[column]));
  EXPECT_EQ(values[width + 1 + column], 1);
  EXPECT_TRUE(IsMissing(values[width + 1])) << "the lost GPU has no utilization";
  EXPECT_FALSE(IsMissing(values[width + 1 + column + 1]));
}

}  // namespace
}  // namespace pitwall::loadgen
