#include "services/window/panes/pane_archive.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/model/position.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall::window {

void PaneArchive::Push(PaneIndex first, std::span<Pane> panes, const PaneShape& shape) {
  const int64_t number = FloorDiv(first, kBlock);
  PITWALL_CHECK(blocks_.empty() || PaneIndex(number * kBlock) == end());
  PITWALL_CHECK(first + static_cast<int64_t>(panes.size()) == PaneIndex((number + 1) * kBlock));
  if (blocks_.empty()) first_ = number;
  const PackedBlock& block = blocks_.emplace_back(panes, shape);
  nonempty_ += block.nonempty();
  packed_bytes_ += block.Size();
}

const Pane* PaneArchive::At(PaneIndex index, const PaneShape& shape) {
  const int64_t number = FloorDiv(index, kBlock);
  if (number < first_ || index >= end() || blocks_.empty()) return nullptr;
  const PackedBlock& block = blocks_[static_cast<size_t>(number - first_)];
  const auto k = static_cast<size_t>(FloorMod(index, kBlock));
  if (!block.HasPane(k)) return nullptr;
  if (const PackedBlock::Panes* panes = unpacked_.Find(number)) return &(*panes)[k];
  PackedBlock::Panes& panes = unpacked_.Add(number);
  block.Unpack(shape, panes);
  return &panes[k];
}

void PaneArchive::PopFront() {
  const PackedBlock& block = blocks_.front();
  nonempty_ -= block.nonempty();
  packed_bytes_ -= block.Size();
  unpacked_.Remove(first_);
  blocks_.pop_front();
  ++first_;
}

void PaneArchive::DropBefore(PaneIndex pane, PanePart part, Family family) {
  // Stops at the first block with nothing to drop, because the blocks before it were trimmed
  // earlier.
  const int64_t end = first_ + static_cast<int64_t>(blocks_.size());
  for (int64_t number = std::min(FloorDiv(pane, kBlock), end) - 1; number >= first_; --number) {
    PackedBlock& block = blocks_[static_cast<size_t>(number - first_)];
    const size_t bytes = block.Size();
    if (!block.Drop(part, family)) break;
    packed_bytes_ -= bytes - block.Size();
  }
}

void PaneArchive::Trim(PaneIndex open, const PanePlan& plan) {
  while (!blocks_.empty() && PaneIndex((first_ + 1) * kBlock) <= open - plan.keep()) PopFront();
  DropBefore(open - plan.keep_times(), PanePart::kTimes, Family::kSums);
  const std::vector<Family>& families = plan.families();
  for (size_t f = 0; f < families.size(); ++f) {
    const PaneIndex pane = open - plan.keep_partials(f);
    DropBefore(pane, PanePart::kPartial, families[f]);
    if (families[f] == Family::kSums) DropBefore(pane, PanePart::kScaled, Family::kSums);
  }
}

void PaneArchive::Retain(const PanePlan& plan) {
  unpacked_.Clear();
  packed_bytes_ = 0;
  for (PackedBlock& block : blocks_) {
    block.Retain(plan);
    packed_bytes_ += block.Size();
  }
}

PaneIndex PaneArchive::DropOldest() {
  PopFront();
  return PaneIndex(first_ * kBlock - 1);
}

void PaneArchive::Clear() {
  unpacked_.Clear();
  blocks_.clear();
  nonempty_ = packed_bytes_ = 0;
}

void PaneArchive::Remap(const std::vector<uint32_t>& keep) {
  unpacked_.Clear();
  packed_bytes_ = 0;
  size_t same = 0;  // number of leading columns that do not move
  while (same < keep.size() && keep[same] == same) ++same;
  for (PackedBlock& block : blocks_) {
    block.Remap(keep, same);
    packed_bytes_ += block.Size();
  }
}

size_t PaneArchive::MemoryBytes() const {
  size_t bytes = unpacked_.MemoryBytes();
  for (const PackedBlock& block : blocks_) bytes += block.MemoryBytes();
  return bytes;
}

void PaneArchive::Save(BinaryWriter& out) const {
  out.U64(blocks_.size());
  out.I64(first_);
  for (const PackedBlock& block : blocks_) block.Save(out);
}

void PaneArchive::Load(BinaryReader& in, const PaneShape& shape, PaneIndex times) {
  Clear();
  const size_t blocks = in.Count(3);
  first_ = in.I64();
  if (first_ < FloorDiv(kMinPosition, kBlock) || first_ > kMaxPosition / kBlock) in.Fail();
  for (size_t b = 0; b < blocks && in.ok(); ++b) {
    PackedBlock& block = blocks_.emplace_back();
    block.Load(in, shape, times - PaneIndex((first_ + static_cast<int64_t>(b)) * kBlock));
    nonempty_ += block.nonempty();
    packed_bytes_ += block.Size();
  }
}

}  // namespace pitwall::window
