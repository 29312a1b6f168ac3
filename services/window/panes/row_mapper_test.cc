#include "services/window/panes/row_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

using testing::ElementsAre;

Row MakeRow(RowPool& pool, std::vector<double> cells) {
  Row row = pool.NewIdentity(1);
  std::copy(cells.begin(), cells.end(), row.cells());
  return row;
}

TEST(RowMapper, CellsMoveToNewColumns) {
  RowPool from(8), to(8);
  const std::vector<uint32_t> keep = {2, UINT32_MAX, 0};
  RowMapper mapper(keep, 3, from, to);
  const Row mapped = mapper(MakeRow(from, {10, 11, 12}));
  EXPECT_EQ(mapped.cells()[0], 12);
  EXPECT_TRUE(IsMissing(mapped.cells()[1]));
  EXPECT_EQ(mapped.cells()[2], 10);
}

TEST(RowMapper, EachRowIsMappedOnceAndNullStaysNull) {
  RowPool from(8), to(8);
  const std::vector<uint32_t> keep = {0};
  RowMapper mapper(keep, 1, from, to);
  const Row row = MakeRow(from, {1});
  EXPECT_EQ(mapper(row).id(), mapper(Row(row)).id());
  EXPECT_FALSE(mapper(Row()));
}

TEST(RowMapper, ExtrasOfRemovedColumnsAreDropped) {
  RowPool from(8), to(8);
  const std::vector<uint32_t> keep = {2, 0};
  RowMapper mapper(keep, 3, from, to);
  Pane pane;
  pane.form = PaneForm::kDeep;
  pane.deep = std::make_unique<DeepPane>();
  pane.deep->extras = {{0, 5.0}, {1, 6.0}, {2, 7.0}};
  pane.deep->dropped = {1, 2};
  mapper.MapPane(pane);
  ASSERT_EQ(pane.deep->extras.size(), 2u);
  EXPECT_EQ(pane.deep->extras[0].column, 1u);
  EXPECT_EQ(pane.deep->extras[1].column, 0u);
  EXPECT_THAT(pane.deep->dropped, ElementsAre(0u));
}

TEST(RowMapper, ValuesAreMappedByColumn) {
  RowPool from(8), to(8);
  const std::vector<uint32_t> keep = {1, UINT32_MAX, 0, 2};
  const RowMapper mapper(keep, 3, from, to);
  std::vector<uint32_t> values = {4, 5};  // the values cover only the first two columns
  mapper.MapValues(values);
  EXPECT_THAT(values, ElementsAre(5u, 0u, 4u, 0u));
}

}  // namespace
}  // namespace pitwall::window
