#include "services/window/panes/open_pane.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

// An open pane with three columns.
struct ThreeColumns {
  explicit ThreeColumns(Family family, uint32_t max_samples = 100) {
    plan.Add(family, 10);
    if (family == Family::kOrdered) limits.SetWindows({4}, max_samples);
  }
  PaneShape shape() { return {pool, 3, plan}; }
  void Put(uint32_t column, double value) {
    const uint32_t cell = 0;
    position = position.Next();
    pane.Scatter(position, {&cell, 1}, {&column, 1}, &value, shape(), limits);
  }
  const Pane& Settle() { return pane.Settle(shape(), limits); }

  RowPool pool{8};
  PanePlan plan;
  SampleLimits limits;
  OpenPane pane{8};
  Position position;
};

TEST(OpenPane, SingleSamplePerColumnIsNotFolded) {
  ThreeColumns columns(Family::kSums);
  EXPECT_TRUE(columns.pane.empty());
  columns.Put(0, 1);
  columns.Put(2, 3);
  const Pane& pane = columns.Settle();
  EXPECT_EQ(pane.form, PaneForm::kSingle);
  EXPECT_EQ(pane.present, 2u);
  EXPECT_TRUE(IsMissing(pane.values.cells()[1]));
  EXPECT_FALSE(columns.pane.empty());
}

TEST(OpenPane, SecondSampleOfColumnIsFolded) {
  ThreeColumns columns(Family::kSums);
  for (int k = 0; k < 40; ++k) columns.Put(1, 2);  // more samples than there are layers
  const Pane& pane = columns.Settle();
  ASSERT_EQ(pane.form, PaneForm::kDeep);
  EXPECT_EQ(pane.deep->partials[0].cells()[1], 80);
  EXPECT_EQ(pane.deep->partials[0].cells()[0], 0);
}

TEST(OpenPane, EachChangeCreatesNewVersion) {
  ThreeColumns columns(Family::kSums);
  columns.Put(0, 1);
  const uint64_t before = columns.Settle().version;
  EXPECT_EQ(columns.Settle().version, before);
  columns.Put(1, 1);
  EXPECT_NE(columns.Settle().version, before);
}

TEST(OpenPane, IsEmptyAfterClose) {
  ThreeColumns columns(Family::kSums);
  columns.Put(0, 1);
  const Pane closed = columns.pane.Close(columns.shape(), columns.limits);
  EXPECT_EQ(closed.form, PaneForm::kSingle);
  EXPECT_TRUE(columns.pane.empty());
  EXPECT_EQ(columns.Settle().form, PaneForm::kEmpty);
}

TEST(OpenPane, SamplesOverAllLimitsAreDropped) {
  ThreeColumns columns(Family::kOrdered, 5);
  for (int k = 0; k < 100; ++k) columns.Put(1, k);
  columns.Put(0, 7);
  const Pane& pane = columns.Settle();
  ASSERT_EQ(pane.form, PaneForm::kDeep);
  EXPECT_EQ(pane.deep->dropped, std::vector<uint32_t>{1});
  // Column 1 keeps six samples, one more than its limit. A row with a sample in only one of three
  // columns is kept as individual samples.
  EXPECT_EQ(pane.deep->extras.size(), 6u + 1u);
}

TEST(OpenPane, HugeValueAddsScaledSums) {
  ThreeColumns columns(Family::kSums);
  columns.Put(0, 1);
  columns.Put(0, 1);
  EXPECT_FALSE(columns.Settle().deep->scaled);
  columns.pane.MarkHuge();
  columns.Put(0, 0x1p1000);
  const Pane& pane = columns.Settle();
  ASSERT_TRUE(pane.deep->scaled);
  EXPECT_EQ(pane.deep->scaled.cells()[0], 0x1p936);
}

}  // namespace
}  // namespace pitwall::window
