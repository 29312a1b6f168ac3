#include "services/codec/steps/step_progress.h"

#include <gtest/gtest.h>

namespace pitwall::steps {
namespace {

using Cells = std::vector<std::pair<uint32_t, double>>;

TEST(StepProgress, EndStepAppendsStepDurationAndWorldSize) {
  RowStreams columns(1, 3, 100, 100);
  StepProgress progress("0", 8, &columns);
  Row row;
  progress.EndStep(5, 1'000'000'000, 3'000'000'000, &row);
  EXPECT_EQ(row.cells, (Cells{{0, 5}, {1, 2}, {2, 8}}));
}

TEST(StepProgress, RepeatsStepAfterInterval) {
  RowStreams columns(1, 3, 100, 100);
  StepProgress progress("0", 0, &columns);
  Row row;
  progress.EndStep(5, 10, 20, &row);
  EXPECT_FALSE(progress.Repeat(29, 0, 10).has_value());
  const std::optional<Row> repeated = progress.Repeat(30, 0, 10);
  ASSERT_TRUE(repeated.has_value());
  EXPECT_EQ(repeated->time_ns, 30);
  EXPECT_EQ(repeated->step, kNoStep);
  EXPECT_EQ(repeated->cells, (Cells{{0, 5}}));
  EXPECT_FALSE(progress.Repeat(31, 0, 10).has_value());
}

TEST(StepProgress, RepeatsNothingBeforeFirstStepOrFloor) {
  RowStreams columns(1, 3, 100, 100);
  StepProgress progress("0", 0, &columns);
  EXPECT_FALSE(progress.Repeat(30, 0, 10).has_value());
  StepProgress sized("0", 8, &columns);
  EXPECT_FALSE(sized.Repeat(30, 30, 10).has_value());
  EXPECT_TRUE(sized.Repeat(31, 30, 10).has_value());
}

}  // namespace
}  // namespace pitwall::steps
