#include "services/window/panes/track_panes.h"

#include <utility>

#include "services/base/check.h"

namespace pitwall::window {
namespace {

const Pane& EmptyPane() {
  static const Pane pane;
  return pane;
}

}  // namespace

TrackPanes::TrackPanes(size_t packed_limit)
    : pool_(std::make_unique<RowPool>(RowPool::CapacityFor(0))),
      closed_(packed_limit),
      open_(pool_->capacity()) {}

const Pane& TrackPanes::At(PaneIndex index) {
  if (index == open_index()) return open_.Settle(shape(), limits_);
  if (index > open_index()) return EmptyPane();
  const Pane* pane = closed_.At(index, shape());
  return pane != nullptr ? *pane : EmptyPane();
}

void TrackPanes::Replan(PanePlan plan, const std::vector<int64_t>& ordered, uint32_t max_samples) {
  PITWALL_CHECK(!closed_.packed() || !plan.ordered());
  open_.Settle(shape(), limits_);
  const PanePlan before = std::exchange(plan_, std::move(plan));
  closed_.Adapt(plan_, before);
  open_.Adapt(plan_, before);
  limits_.SetWindows(ordered, max_samples);
}

bool TrackPanes::AddColumns(size_t columns) {
  if (columns > pool_->capacity()) return false;
  columns_ = columns;
  return true;
}

void TrackPanes::SkipTo(PaneIndex index) {
  closed_.SkipTo(index);
  limits_.SkipPanes();
}

void TrackPanes::Close() {
  const PaneIndex index = open_index();
  Pane pane = open_.Close(shape(), limits_);
  limits_.ClosePane(index, pane.form == PaneForm::kDeep, columns_);
  closed_.Push(std::move(pane));
}

void TrackPanes::Remap(RowMapper& mapper, const std::vector<uint32_t>& keep,
                       std::unique_ptr<RowPool> pool) {
  closed_.Remap(mapper, keep);
  open_.Remap(mapper, pool->capacity());
  limits_.Remap(mapper);
  pool_ = std::move(pool);
  columns_ = keep.size();
}

void TrackPanes::Reset() {
  closed_.Reset();
  open_.Reset(columns_);
  limits_.Reset();
}

void TrackPanes::Save(BinaryWriter& out) const {
  const PaneCodec codec(shape());
  codec.SaveFamilies(out);
  out.I64(open_index().value());
  open_.SaveFlags(out);
  closed_.Save(out, codec);
  open_.SaveSamples(out, codec);
  limits_.Save(out);
}

void TrackPanes::Load(BinaryReader& in) {
  PaneCodec codec(shape());
  codec.LoadFamilies(in);
  const PaneIndex open(in.I64());
  open_.LoadFlags(in);
  closed_.Load(in, codec, open);
  open_.LoadSamples(in, codec);
  limits_.Load(in, columns_, open_.folded());
}

size_t TrackPanes::MemoryBytes() const {
  return pool_->MemoryBytes() + closed_.MemoryBytes() + open_.MemoryBytes() + limits_.MemoryBytes();
}

}  // namespace pitwall::window
