#include "services/window/panes/packed_strip.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "services/base/check.h"
#include "services/model/value.h"

namespace pitwall::window {
namespace {

// Number of columns packed together, so that all cells of a cache line are read at the same time.
constexpr size_t kTile = 8;

uint64_t BlankOf(uint32_t fields) {
  return fields <= 2 ? std::bit_cast<uint64_t>(MissingValue()) : 0;  // must match row.h
}

bool IsPosition(Family family, uint8_t field) {
  switch (family) {
    case Family::kCounter:
      return field == 4 || field == 5;
    case Family::kPair:
      return field == 3 || field == 4;
    case Family::kLatest:
    case Family::kMinAt:
    case Family::kMaxAt:
      return field == 1;
    case Family::kRegression:
      return field == 2;
    default:
      return false;
  }
}

}  // namespace

bool IsOfDeepPane(PanePart part) { return part == PanePart::kScaled || part == PanePart::kPartial; }

uint32_t FieldsOf(PanePart part, Family family) {
  return IsOfDeepPane(part) ? OpsOf(family).fields : 1;
}

Row& RowOf(Pane& pane, PanePart part, size_t family_index) {
  switch (part) {
    case PanePart::kValues:
      return pane.values;
    case PanePart::kTimes:
      return pane.times;
    case PanePart::kScaled:
      return pane.deep->scaled;
    case PanePart::kPartial:
      break;
  }
  return pane.deep->partials[family_index];
}

CellKind PackedStrip::kind() const {
  const bool position = kind_.part == PanePart::kTimes ||
                        (kind_.part == PanePart::kPartial && IsPosition(kind_.family, kind_.field));
  return position ? CellKind::kPosition : CellKind::kValue;
}

PackedStrip::PackedStrip(const StripKind& of, uint64_t panes, std::span<Row*> rows,
                         const PaneShape& shape)
    : kind_(of), panes_(panes) {
  const CellKind cell_kind = kind();
  const uint64_t blank = BlankOf(FieldsOf(kind_.part, kind_.family));
  const size_t from = kind_.field * shape.pool.capacity();
  uint64_t tile[kTile][kMaxCodedCells];
  size_t used = 0;  // number of columns, up to the last nonempty code
  ends_.reserve(shape.columns);
  for (size_t first = 0; first < shape.columns; first += kTile) {
    const size_t width = std::min(kTile, shape.columns - first);
    for (size_t k = 0; k < rows.size(); ++k) {
      const double* cells = rows[k]->cells() + from + first;
      for (size_t c = 0; c < width; ++c) tile[c][k] = std::bit_cast<uint64_t>(cells[c]);
    }
    for (size_t c = 0; c < width; ++c) {
      const size_t before = bytes_.size();
      EncodeCells({tile[c], rows.size()}, blank, cell_kind, &bytes_);
      if (bytes_.size() > before) used = first + c + 1;
      ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
  }
  ends_.resize(used);
  ends_.shrink_to_fit();
  bytes_.shrink_to_fit();
}

void PackedStrip::Unpack(std::span<Pane> block, const PaneShape& shape) const {
  const size_t family = shape.plan.IndexOf(kind_.family);
  const uint32_t fields = FieldsOf(kind_.part, kind_.family);
  const uint64_t blank = BlankOf(fields);
  const CellKind cell_kind = kind();
  double* cells[kMaxCodedCells];
  size_t rows = 0;
  for (uint64_t left = panes_; left != 0; left &= left - 1) {
    Row& row = RowOf(block[static_cast<size_t>(std::countr_zero(left))], kind_.part, family);
    if (!row) row = shape.pool.NewIdentity(fields);
    cells[rows++] = row.cells() + kind_.field * shape.pool.capacity();
  }
  uint64_t tile[kTile][kMaxCodedCells];
  for (size_t first = 0; first < ends_.size(); first += kTile) {
    const size_t width = std::min(kTile, ends_.size() - first);
    for (size_t c = 0; c < width; ++c) {
      const uint32_t begin = first + c == 0 ? 0 : ends_[first + c - 1];
      const bool sound = DecodeCells({bytes_.data() + begin, ends_[first + c] - begin}, blank,
                                     cell_kind, {tile[c], rows});
      PITWALL_CHECK(sound);  // Load has verified the code
    }
    for (size_t k = 0; k < rows; ++k) {
      for (size_t c = 0; c < width; ++c) cells[k][first + c] = std::bit_cast<double>(tile[c][k]);
    }
  }
}

void PackedStrip::Remap(const std::vector<uint32_t>& keep, size_t same) {
  if (same >= ends_.size()) return;
  std::vector<uint32_t> ends;
  std::vector<uint8_t> bytes;
  size_t used = 0;
  for (const uint32_t column : keep) {
    if (column < ends_.size()) {
      const auto begin = bytes_.begin() + (column == 0 ? 0 : ends_[column - 1]);
      const auto end = bytes_.begin() + ends_[column];
      bytes.insert(bytes.end(), begin, end);
      if (begin != end) used = ends.size() + 1;
    }
    ends.push_back(static_cast<uint32_t>(bytes.size()));
  }
  ends.resize(used);
  ends.shrink_to_fit();
  bytes.shrink_to_fit();
  ends_ = std::move(ends);
  bytes_ = std::move(bytes);
}

void PackedStrip::Save(BinaryWriter& out) const {
  out.U8(static_cast<uint8_t>(kind_.part));
  out.U8(static_cast<uint8_t>(kind_.family));
  out.U8(kind_.field);
  out.U64(panes_);
  out.U64(ends_.size());
  uint32_t before = 0;
  for (const uint32_t end : ends_) out.U64(end - std::exchange(before, end));
  out.Bytes(bytes_);
}

bool PackedStrip::IsKnown(uint8_t part, const PanePlan& plan) const {
  if (part > static_cast<uint8_t>(PanePart::kPartial)) return false;
  const bool known = kind_.part == PanePart::kPartial
                         ? plan.IndexOf(kind_.family) < plan.families().size()
                         : kind_.family == Family::kSums;
  return known && kind_.field < FieldsOf(kind_.part, kind_.family);
}

bool PackedStrip::Load(BinaryReader& in, const PaneShape& shape) {
  const uint8_t part = in.U8(), family = in.U8();
  kind_ = {static_cast<PanePart>(part), static_cast<Family>(family), in.U8()};
  panes_ = in.U64();
  if (!IsKnown(part, shape.plan)) {
    in.Fail();
    return false;
  }
  const size_t ends = in.Count(1);
  if (ends > shape.columns) in.Fail();
  uint64_t end = 0;
  for (size_t i = 0; i < ends && in.ok(); ++i) {
    end += in.U64();
    if (end > UINT32_MAX) in.Fail();
    ends_.push_back(static_cast<uint32_t>(end));
  }
  bytes_ = in.Bytes();
  if (in.ok() && !IsSound()) in.Fail();
  return in.ok();
}

bool PackedStrip::IsSound() const {
  if (!ends_.empty() && ends_.back() != bytes_.size()) return false;
  if (ends_.empty() && !bytes_.empty()) return false;
  const uint64_t blank = BlankOf(FieldsOf(kind_.part, kind_.family));
  const auto rows = static_cast<size_t>(std::popcount(panes_));
  uint64_t cells[kMaxCodedCells];
  uint32_t begin = 0;
  for (const uint32_t end : ends_) {
    if (end > bytes_.size() ||
        !DecodeCells({bytes_.data() + begin, end - begin}, blank, kind(), {cells, rows})) {
      return false;
    }
    begin = end;
  }
  return true;
}

}  // namespace pitwall::window
