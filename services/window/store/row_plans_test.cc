#include "services/window/store/row_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "services/window/store/demand_table.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

using testing::ElementsAre;

// Three series (a, b, and c) of one selector.
struct ThreeSeries {
  ThreeSeries() : set(SetOf({Window(WindowFunction::kSum, 10)})), columns(*set) {
    for (const char* name : {"a", "b", "c"}) {
      ids.push_back(*table.Add(M(name), Position()));
      columns.Join(ids.back(), table.labels(ids.back()));
    }
  }
  std::shared_ptr<DemandSet> set;
  SeriesTable table{Limits()};
  SelectorColumns columns;
  std::vector<SeriesId> ids;
};

TEST(SeriesTable, ForgottenIdIsReused) {
  SeriesTable table{Limits()};
  const SeriesId a = *table.Add(M("a"), Position());
  EXPECT_EQ(table.Find(M("a")), a);
  EXPECT_TRUE(table.Push(a, At(5), 1));
  EXPECT_FALSE(table.Push(a, At(5), 2));
  table.Forget(a);
  EXPECT_FALSE(table.Known(a));
  EXPECT_EQ(table.Find(M("a")), std::nullopt);
  EXPECT_EQ(*table.Add(M("b"), At(7)), a);
  EXPECT_EQ(table.LastUse(a), At(7));
}

TEST(SeriesTable, RejectsSeriesOverLimits) {
  Limits limits;
  limits.max_series = 1;
  SeriesTable table{limits};
  ASSERT_TRUE(table.Add(M("a"), Position()).ok());
  EXPECT_TRUE(table.IsCrowded(1));
  EXPECT_EQ(table.Add(M("b"), Position()).status().code(), absl::StatusCode::kResourceExhausted);
  limits = Limits();
  limits.max_label_bytes = 1;
  EXPECT_EQ(SeriesTable{limits}.Add(M("a"), Position()).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST(SelectorColumns, CompactMovesRemainingColumns) {
  ThreeSeries s;
  const uint64_t generation = s.columns.generation(0);
  EXPECT_THAT(s.columns.Compact(0, {true, false, false}), ElementsAre(1u, 2u));
  s.columns.Leave(s.ids[0]);
  EXPECT_THAT(s.columns.members(0), ElementsAre(s.ids[1], s.ids[2]));
  EXPECT_EQ(s.columns.memberships(s.ids[2])[0].column, 1u);
  EXPECT_TRUE(s.columns.memberships(s.ids[0]).empty());
  EXPECT_NE(s.columns.generation(0), generation);
}

TEST(SelectorColumns, ReplaceKeepsColumnsOfRemainingSelectors) {
  ThreeSeries s;
  s.columns.Compact(0, {true, false, false});
  s.columns.Leave(s.ids[0]);
  auto next = SetOf({});
  next->selectors.insert(next->selectors.begin(), Selector());
  next->selectors[0].matchers.push_back(*Matcher::Make("id", MatchOp::kEqual, "c"));
  s.columns.Replace(*next, {1}, s.table, 9);
  EXPECT_THAT(s.columns.members(0), ElementsAre(s.ids[2]));
  EXPECT_THAT(s.columns.members(1), ElementsAre(s.ids[1], s.ids[2]));
  EXPECT_EQ(s.columns.generation(1), 9u);
  EXPECT_EQ(s.columns.memberships(s.ids[2]).size(), 2u);
}

TEST(RowPlans, EqualLayoutsShareOnePinningPlan) {
  ThreeSeries s;
  RowPlans plans;
  const uint32_t plan = *plans.FindOrAdd({s.ids[0], SeriesStore::kUnwanted}, s.table);
  plans.Hold(plan);
  EXPECT_EQ(*plans.FindOrAdd({s.ids[0], SeriesStore::kUnwanted}, s.table), plan);
  EXPECT_TRUE(plans.Pins(s.ids[0]));
  EXPECT_FALSE(plans.Pins(s.ids[1]));
  plans.AddRow(plan);
  plans.Release(plan);
  EXPECT_TRUE(plans.Has(plan));  // the plan is kept for its row
  plans.RemoveRow(plan);
  EXPECT_FALSE(plans.Has(plan));
  EXPECT_FALSE(plans.Pins(s.ids[0]));
}

TEST(RowPlans, UnknownSeriesIsRejected) {
  ThreeSeries s;
  RowPlans plans;
  EXPECT_EQ(plans.FindOrAdd({SeriesId(77)}, s.table).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RowPlans, LayOutFindsColumnOfEachCell) {
  ThreeSeries s;
  WindowSet windows{Limits()};
  DemandTable demands{Limits()};
  demands.Assign(s.set, {}, Position::Earliest(), Position(), windows);
  RowPlans plans;
  const uint32_t plan = *plans.FindOrAdd({s.ids[2], SeriesStore::kUnwanted, s.ids[0]}, s.table);
  plans.LayOut(plan, 3, s.table, s.columns, windows);
  const RowLayout& layout = plans.layout(plan);
  EXPECT_EQ(layout.version, 3u);
  ASSERT_EQ(layout.wanted.size(), 2u);
  EXPECT_EQ(layout.wanted[1].cell, 2u);
  ASSERT_EQ(layout.targets.size(), 1u);
  EXPECT_THAT(layout.targets[0].cells, ElementsAre(0u, 2u));
  EXPECT_THAT(layout.targets[0].columns, ElementsAre(2u, 0u));
}

}  // namespace
}  // namespace pitwall::window
