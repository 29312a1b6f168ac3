#include "services/window/panes/closed_panes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

// The closed panes of one column. Each pane is one second long.
struct OneColumn {
  explicit OneColumn(int64_t keep, size_t packed_limit = 0) : panes(packed_limit) {
    plan.Add(Family::kCounter, keep);
    panes.SkipTo(PaneIndex(0));
  }
  PaneShape shape() { return {pool, 1, plan}; }
  // Pushes a pane with one value. NaN pushes an empty pane.
  void Push(double value) {
    Pane pane;
    if (!std::isnan(value)) {
      pane.form = PaneForm::kSingle;
      pane.present = 1;
      pane.values = pool.NewIdentity(1);
      pane.values.cells()[0] = value;
      pane.times = pool.NewIdentity(1);
      *reinterpret_cast<int64_t*>(pane.times.cells()) = panes.end().value();
    }
    panes.Push(std::move(pane));
    panes.Trim(plan);
    panes.Pack(shape(), grid, 2);
  }
  double At(int64_t index) {
    const Pane* pane = panes.At(PaneIndex(index), shape());
    return pane != nullptr && pane->values ? pane->values.cells()[0] : NormalNan();
  }

  RowPool pool{8};
  PanePlan plan;
  PaneGrid grid{.length = Duration::Seconds(1)};
  ClosedPanes panes;
};

TEST(ClosedPanes, TrimKeepsPanesThatPlanNeeds) {
  OneColumn column(3);
  for (int k = 0; k < 10; ++k) column.Push(k);
  EXPECT_EQ(column.panes.end(), PaneIndex(10));
  EXPECT_EQ(column.At(7), 7);
  EXPECT_EQ(column.panes.At(PaneIndex(6), column.shape()), nullptr);
}

TEST(ClosedPanes, TrimmingAllSamples_LeavesNoPanes) {
  OneColumn column(3);
  column.Push(1);
  EXPECT_FALSE(column.panes.empty());
  for (int k = 0; k < 3; ++k) column.Push(NormalNan());
  EXPECT_TRUE(column.panes.empty());
}

TEST(ClosedPanes, PackedPanesReadBackUnchanged) {
  OneColumn column(1'000, 1 << 20);
  for (int k = 0; k < 1'000; ++k) column.Push(k % 7 == 0 ? NormalNan() : k);
  for (int k = 0; k < 1'000; ++k) {
    if (k % 7 == 0) continue;
    ASSERT_EQ(column.At(k), k);
  }
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(
                column.panes.At(PaneIndex(1), column.shape())->times.cells()),
            1);
  EXPECT_FALSE(column.panes.DroppedAfter(Position()));
}

TEST(ClosedPanes, PackedLimitDropsOldestPanes) {
  OneColumn column(1'000, 1'000);
  for (int k = 0; k < 1'000; ++k) column.Push(0.1 * k);
  EXPECT_TRUE(column.panes.DroppedAfter(Position()));
  EXPECT_FALSE(column.panes.DroppedAfter(Position() + Duration::Seconds(900)));
  EXPECT_EQ(column.panes.At(PaneIndex(0), column.shape()), nullptr);
  EXPECT_EQ(column.At(999), 0.1 * 999);
}

TEST(ClosedPanes, LoadRestoresPackedAndUnpackedPanes) {
  OneColumn column(1'000, 1 << 20);
  for (int k = 0; k < 300; ++k) column.Push(k);
  BinaryWriter out;
  column.panes.Save(out, PaneCodec(column.shape()));
  OneColumn restored(1'000, 1 << 20);
  BinaryReader in(out.data());
  restored.panes.Load(in, PaneCodec(restored.shape()), PaneIndex(300));
  ASSERT_TRUE(in.ok());
  for (int k = 0; k < 300; ++k) ASSERT_EQ(restored.At(k), k);
  BinaryWriter again;
  restored.panes.Save(again, PaneCodec(restored.shape()));
  EXPECT_EQ(again.data(), out.data());
}

TEST(PanePlan, AdaptKeepsPartialsOfRemainingFamilies) {
  RowPool pool(8);
  PanePlan before, after;
  for (const Family family : {Family::kSums, Family::kMax, Family::kMin}) before.Add(family, 1);
  for (const Family family : {Family::kMin, Family::kMax}) after.Add(family, 1);
  Pane pane;
  pane.form = PaneForm::kDeep;
  pane.deep = std::make_unique<DeepPane>();
  for (int f = 0; f < 3; ++f) pane.deep->partials.push_back(pool.NewIdentity(1));
  pane.deep->scaled = pool.NewIdentity(3);
  pane.deep->extras = {{0, 1.0}};
  const void* max = pane.deep->partials[1].id();
  after.Adapt(pane, before);
  ASSERT_EQ(pane.deep->partials.size(), 2u);
  EXPECT_EQ(pane.deep->partials[1].id(), max);
  EXPECT_FALSE(pane.deep->scaled);
  EXPECT_TRUE(pane.deep->extras.empty());
}

// The current index of a one-second pane is near two billion. Visiting every block before it would
// take too long.
TEST(PaneArchive, TrimOfEmptyArchiveIsFast) {
  PaneArchive archive;
  PanePlan plan;
  plan.Add(Family::kSums, 0);
  plan.Add(Family::kMax, 0);
  archive.Trim(PaneIndex(std::numeric_limits<int64_t>::max() / 2), plan);
  EXPECT_TRUE(archive.empty());
}

}  // namespace
}  // namespace pitwall::window
