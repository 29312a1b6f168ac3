#include "services/window/panes/closed_panes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/model/position.h"

namespace pitwall::window {

const Pane* ClosedPanes::At(PaneIndex index, const PaneShape& shape) {
  const int64_t at = index - (end_ - static_cast<int64_t>(panes_.size()));
  if (at >= 0) return &panes_[static_cast<size_t>(at)];
  return packed() ? archive_.At(index, shape) : nullptr;
}

void ClosedPanes::SkipTo(PaneIndex index) {
  panes_.clear();
  archive_.Clear();
  end_ = index;
}

void ClosedPanes::Push(Pane pane) {
  nonempty_ += pane.form == PaneForm::kEmpty ? 0 : 1;
  panes_.push_back(std::move(pane));
  ++end_;
}

void ClosedPanes::Trim(const PanePlan& plan) {
  if (packed()) {
    archive_.Trim(end_, plan);
  } else {
    while (static_cast<int64_t>(panes_.size()) > plan.keep()) {
      nonempty_ -= panes_.front().form == PaneForm::kEmpty ? 0 : 1;
      panes_.pop_front();
    }
  }
  // Each Push moves one pane out of the range kept for positions and for each family, so only that
  // pane has to be trimmed.
  const auto behind = [&](int64_t keep) -> Pane* {
    const int64_t at = static_cast<int64_t>(panes_.size()) - keep - 1;
    return at >= 0 ? &panes_[static_cast<size_t>(at)] : nullptr;
  };
  if (plan.timed()) {
    if (Pane* pane = behind(plan.keep_times())) pane->times.reset();
  }
  for (size_t f = 0; f < plan.families().size(); ++f) {
    Pane* pane = behind(plan.keep_partials(f));
    if (pane == nullptr || pane->form != PaneForm::kDeep) continue;
    pane->deep->partials[f].reset();
    if (plan.families()[f] == Family::kSums) pane->deep->scaled.reset();
  }
}

void ClosedPanes::Pack(const PaneShape& shape, const PaneGrid& grid, size_t readers) {
  if (!packed()) return;
  constexpr int64_t kBlock = PaneArchive::kBlock;
  const PaneIndex first = end_ - static_cast<int64_t>(panes_.size());
  const PaneIndex block_end((FloorDiv(first, kBlock) + 1) * kBlock);
  if (end_ - block_end >= kBlock) {
    const auto last = panes_.begin() + static_cast<ptrdiff_t>(block_end - first);
    std::vector<Pane> block(static_cast<size_t>(block_end - first));
    std::move(panes_.begin(), last, block.begin());
    panes_.erase(panes_.begin(), last);
    archive_.Push(first, block, shape);
    for (const Pane& pane : block) nonempty_ -= pane.form == PaneForm::kEmpty ? 0 : 1;
    while (archive_.PackedBytes() > packed_limit_) DropOldest(grid);
  }
  archive_.Forget(readers);
}

void ClosedPanes::DropOldest(const PaneGrid& grid) {
  const size_t nonempty = archive_.nonempty();
  const PaneIndex last = archive_.DropOldest();
  if (archive_.nonempty() < nonempty) dropped_until_ = std::max(dropped_until_, grid.EndOf(last));
}

void ClosedPanes::Adapt(const PanePlan& plan, const PanePlan& before) {
  archive_.Retain(plan);
  for (Pane& pane : panes_) plan.Adapt(pane, before);
}

void ClosedPanes::Remap(RowMapper& mapper, const std::vector<uint32_t>& keep) {
  nonempty_ = 0;
  for (Pane& pane : panes_) {
    mapper.MapPane(pane);
    pane.CountPresent(keep.size());
    nonempty_ += pane.form == PaneForm::kEmpty ? 0 : 1;
  }
  archive_.Remap(keep);
}

void ClosedPanes::Reset() {
  panes_.clear();
  archive_.Clear();
  dropped_until_ = Position::Earliest();
  nonempty_ = 0;
}

void ClosedPanes::Save(BinaryWriter& out, const PaneCodec& codec) const {
  out.I64(dropped_until_.ns());
  if (packed()) archive_.Save(out);
  out.U64(panes_.size());
  for (const Pane& pane : panes_) codec.SavePane(out, pane);
}

void ClosedPanes::Load(BinaryReader& in, const PaneCodec& codec, PaneIndex end) {
  dropped_until_ = Position::FromNs(in.I64());
  if (!in.ok() || end.value() < kMinPosition || end.value() > kMaxPosition) {
    in.Fail();
    return;
  }
  const PanePlan& plan = codec.shape().plan;
  if (packed()) archive_.Load(in, codec.shape(), end - plan.keep_times());
  const size_t panes = in.Count(1);
  if (packed() && !archive_.empty() && archive_.end() != end - static_cast<int64_t>(panes))
    in.Fail();
  const int64_t most = packed() ? 2 * PaneArchive::kBlock : plan.keep();
  if (!in.ok() || panes > static_cast<size_t>(most)) {
    in.Fail();
    return;
  }
  end_ = end;
  LoadPanes(in, codec, panes);
}

void ClosedPanes::LoadPanes(BinaryReader& in, const PaneCodec& codec, size_t panes) {
  const PanePlan& plan = codec.shape().plan;
  for (size_t k = 0; k < panes && in.ok(); ++k) {
    const Pane& pane = panes_.emplace_back(codec.LoadPane(in));
    const auto age = static_cast<int64_t>(panes - k);  // distance from the open pane
    if (pane.form == PaneForm::kSingle && plan.timed() && !pane.times && age <= plan.keep_times())
      in.Fail();
    for (size_t f = 0; pane.deep && f < plan.families().size(); ++f) {
      if (!pane.deep->partials[f] && age <= plan.keep_partials(f)) in.Fail();
    }
    nonempty_ += pane.form == PaneForm::kEmpty ? 0 : 1;
  }
}

size_t ClosedPanes::MemoryBytes() const {
  size_t bytes = panes_.size() * sizeof(Pane) + archive_.MemoryBytes();
  for (const Pane& pane : panes_) {
    if (pane.deep == nullptr) continue;
    const DeepPane& deep = *pane.deep;
    bytes += sizeof(DeepPane) + (deep.partials.capacity() + deep.samples.capacity()) * sizeof(Row) +
             deep.extras.capacity() * sizeof(Extra) + deep.dropped.capacity() * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace pitwall::window
