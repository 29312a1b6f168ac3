#include "services/window/panes/packed_block.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "services/model/value.h"

namespace pitwall::window {

PackedBlock::PackedBlock(std::span<Pane> panes, const PaneShape& shape) {
  const size_t skipped = kPanes - panes.size();
  for (size_t k = 0; k < panes.size(); ++k) {
    const uint64_t bit = uint64_t{1} << (skipped + k);
    if (panes[k].form == PaneForm::kSingle) single_ |= bit;
    if (panes[k].form == PaneForm::kDeep) deep_ |= bit;
  }
  Pack(PanePart::kValues, Family::kSums, 0, panes, shape);
  Pack(PanePart::kTimes, Family::kSums, 0, panes, shape);
  Pack(PanePart::kScaled, Family::kSums, 0, panes, shape);
  const std::vector<Family>& families = shape.plan.families();
  for (size_t f = 0; f < families.size(); ++f)
    Pack(PanePart::kPartial, families[f], f, panes, shape);
  strips_.shrink_to_fit();
}

void PackedBlock::Pack(PanePart part, Family family, size_t family_index, std::span<Pane> panes,
                       const PaneShape& shape) {
  const PaneForm form = IsOfDeepPane(part) ? PaneForm::kDeep : PaneForm::kSingle;
  const size_t skipped = kPanes - panes.size();
  std::vector<Row*> rows;
  uint64_t has = 0;
  for (size_t k = 0; k < panes.size(); ++k) {
    if (panes[k].form != form) continue;
    Row& row = RowOf(panes[k], part, family_index);
    if (!row) continue;
    rows.push_back(&row);
    has |= uint64_t{1} << (skipped + k);
  }
  if (rows.empty()) return;
  for (uint8_t field = 0; field < FieldsOf(part, family); ++field)
    strips_.emplace_back(StripKind{part, family, field}, has, rows, shape);
}

size_t PackedBlock::nonempty() const { return static_cast<size_t>(std::popcount(single_ | deep_)); }

size_t PackedBlock::Size() const {
  size_t bytes = 0;
  for (const PackedStrip& strip : strips_) bytes += strip.Size();
  return bytes;
}

size_t PackedBlock::MemoryBytes() const {
  size_t bytes = sizeof(PackedBlock) + strips_.capacity() * sizeof(PackedStrip);
  for (const PackedStrip& strip : strips_) bytes += strip.MemoryBytes();
  return bytes;
}

void PackedBlock::Unpack(const PaneShape& shape, Panes& panes) const {
  for (size_t k = 0; k < kPanes; ++k) {
    Pane& pane = panes[k];
    if ((single_ >> k & 1) != 0) pane.form = PaneForm::kSingle;
    if ((deep_ >> k & 1) == 0) continue;
    pane.form = PaneForm::kDeep;
    pane.deep = std::make_unique<DeepPane>();
    pane.deep->partials.resize(shape.plan.families().size());
  }
  for (const PackedStrip& strip : strips_) strip.Unpack(panes, shape);
  for (Pane& pane : panes) {
    if (pane.form != PaneForm::kSingle) continue;
    for (size_t i = 0; i < shape.columns; ++i)
      pane.present += IsMissing(pane.values.cells()[i]) ? 0 : 1;
  }
}

bool PackedBlock::Drop(PanePart part, Family family) {
  return std::erase_if(strips_, [&](const PackedStrip& strip) {
           return strip.part() == part && strip.family() == family;
         }) > 0;
}

void PackedBlock::Retain(const PanePlan& plan) {
  std::erase_if(strips_, [&](const PackedStrip& strip) {
    if (strip.part() == PanePart::kValues) return false;
    if (strip.part() == PanePart::kTimes) return !plan.timed();
    return plan.IndexOf(strip.family()) == plan.families().size();
  });
}

void PackedBlock::Remap(const std::vector<uint32_t>& keep, size_t same) {
  for (PackedStrip& strip : strips_) strip.Remap(keep, same);
}

void PackedBlock::Save(BinaryWriter& out) const {
  out.U64(single_);
  out.U64(deep_);
  out.U64(strips_.size());
  for (const PackedStrip& strip : strips_) strip.Save(out);
}

void PackedBlock::Load(BinaryReader& in, const PaneShape& shape, int64_t untimed) {
  single_ = in.U64();
  deep_ = in.U64();
  if ((single_ & deep_) != 0) in.Fail();
  uint64_t values = 0, timed = 0;
  const size_t strips = in.Count(5);
  for (size_t s = 0; s < strips && in.ok(); ++s) {
    PackedStrip& strip = strips_.emplace_back();
    if (!strip.Load(in, shape)) return;
    if ((strip.panes() & ~(IsOfDeepPane(strip.part()) ? deep_ : single_)) != 0) in.Fail();
    if (strip.part() == PanePart::kValues) values |= strip.panes();
    if (strip.part() == PanePart::kTimes) timed |= strip.panes();
  }
  const uint64_t need = untimed >= static_cast<int64_t>(kPanes)
                            ? 0
                            : ~uint64_t{0} << std::max<int64_t>(0, untimed) & single_;
  if (values != single_ || (need & ~timed) != 0) in.Fail();
}

}  // namespace pitwall::window
