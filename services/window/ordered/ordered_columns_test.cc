#include "services/window/ordered/ordered_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace pitwall::window {
namespace {

using testing::ElementsAre;

double Median(OrderedColumns& columns, size_t column, bool* known) {
  double value = 0;
  *known = columns.TrackerOf(0.5, PaneIndex(0)).Get(column, columns.count(column), &value);
  return value;
}

TEST(OrderedColumns, ColumnOverLimitHasNoSamples) {
  OrderedColumns columns(2);
  columns.Resize(2);
  for (int k = 0; k < 3; ++k) columns.Insert(0, k);
  columns.Insert(1, 5);
  EXPECT_TRUE(columns.overflowed().Has(0));
  EXPECT_EQ(columns.count(0), 0u);
  columns.Insert(0, 1);
  EXPECT_EQ(columns.count(0), 0u);
  EXPECT_EQ(columns.count(1), 1u);
  EXPECT_THAT(columns.ForgetOverflows(), ElementsAre(1, 0));
  columns.Insert(0, 1);
  EXPECT_EQ(columns.count(0), 1u);
  EXPECT_FALSE(columns.overflowed().Any());
}

TEST(OrderedColumns, ExchangeEqualsRemoveAndInsert) {
  OrderedColumns exchanged(100), renewed(100);
  for (OrderedColumns* columns : {&exchanged, &renewed}) {
    columns->Resize(1);
    columns->BeginSorting();
  }
  std::mt19937 random(3);
  std::vector<double> window;
  for (int k = 0; k < 500; ++k) {
    const auto entering = static_cast<double>(random() % 20);
    const bool full = window.size() == 50;
    const double leaving = full ? window.front() : MissingValue();
    exchanged.Exchange(0, leaving, entering);
    if (full) renewed.Remove(0, leaving);
    renewed.Insert(0, entering);
    window.push_back(entering);
    if (full) window.erase(window.begin());
    ASSERT_EQ(std::vector(exchanged.keys(0).begin(), exchanged.keys(0).end()),
              std::vector(renewed.keys(0).begin(), renewed.keys(0).end()));
    ASSERT_EQ(exchanged.count(0), window.size());
  }
}

TEST(OrderedColumns, TrackerFollowsSingleSamples) {
  OrderedColumns columns(100);
  columns.Resize(1);
  columns.TrackerOf(0.5, PaneIndex(0));
  for (const double value : {5.0, 1.0, 3.0}) columns.Insert(0, value);
  bool known = false;
  EXPECT_EQ(Median(columns, 0, &known), 3);
  EXPECT_TRUE(known);
  columns.Remove(0, 5);
  EXPECT_EQ(Median(columns, 0, &known), 2);
}

TEST(OrderedColumns, UnreadTrackerIsDropped) {
  OrderedColumns columns(100);
  columns.Resize(1);
  columns.TrackerOf(0.5, PaneIndex(0));
  const size_t with_tracker = columns.MemoryBytes();
  columns.ForgetUnread(PaneIndex(100));
  EXPECT_EQ(columns.MemoryBytes(), with_tracker);
  columns.ForgetUnread(PaneIndex(1'000));
  EXPECT_LT(columns.MemoryBytes(), with_tracker);
}

TEST(OverflowedColumns, LoadRejectsColumnsOutOfRange) {
  OverflowedColumns saved, restored;
  saved.Resize(5);
  EXPECT_TRUE(saved.Add(3));
  EXPECT_FALSE(saved.Add(3));
  BinaryWriter out;
  saved.Save(out);
  BinaryReader in(out.data());
  restored.Load(in, 5);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(restored.Has(3));
  BinaryReader fewer(out.data());
  restored.Load(fewer, 3);
  EXPECT_FALSE(fewer.ok());
}

TEST(OverflowedColumns, RemapMovesFlagsWithColumns) {
  OverflowedColumns columns;
  columns.Resize(3);
  columns.Add(0);
  columns.Add(2);
  columns.Remap({2, UINT32_MAX});
  EXPECT_TRUE(columns.Has(0));
  EXPECT_FALSE(columns.Has(1));
  EXPECT_THAT(columns.Clear(), ElementsAre(1, 0));
  EXPECT_FALSE(columns.Any());
}

}  // namespace
}  // namespace pitwall::window
