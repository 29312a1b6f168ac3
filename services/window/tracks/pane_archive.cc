#include "services/window/tracks/pane_archive.h"

#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/model/value.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall::window {
namespace {

// Columns are packed so many at a time: a row gives a cache line's worth of cells.
constexpr size_t kTile = 8;

uint64_t BlankOf(uint32_t fields) {
  return fields <= 2 ? std::bit_cast<uint64_t>(MissingValue()) : 0;  // as row.h has it
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

uint32_t PaneArchive::FieldsOf(Part part, Family family) {
  return part == Part::kScaled || part == Part::kPartial ? OpsOf(family).fields : 1;
}

CellKind PaneArchive::KindOf(const Strip& strip) {
  const bool position = strip.part == Part::kTimes ||
                        (strip.part == Part::kPartial && IsPosition(strip.family, strip.field));
  return position ? CellKind::kPosition : CellKind::kValue;
}

Row* PaneArchive::RowOf(Pane& pane, Part part, size_t family_index) {
  switch (part) {
    case Part::kValues:
      return &pane.values;
    case Part::kTimes:
      return &pane.times;
    case Part::kScaled:
      return &pane.deep->scaled;
    case Part::kPartial:
      return &pane.deep->partials[family_index];
  }
  return nullptr;
}

PaneArchive::Strip PaneArchive::Pack(Part part, Family family, uint8_t field, std::span<Row*> rows,
                                     uint64_t panes, const Shape& shape) {
  Strip strip;
  strip.part = part;
  strip.family = family;
  strip.field = field;
  strip.panes = panes;
  const CellKind kind = KindOf(strip);
  const uint64_t blank = BlankOf(FieldsOf(part, family));
  const size_t from = field * shape.pool.capacity();
  uint64_t tile[kTile][kMaxCodedCells];
  size_t used = 0;  // columns up to the last with a code
  strip.ends.reserve(shape.columns);
  for (size_t first = 0; first < shape.columns; first += kTile) {
    const size_t width = std::min(kTile, shape.columns - first);
    for (size_t k = 0; k < rows.size(); ++k) {
      const double* cells = rows[k]->cells() + from + first;
      for (size_t c = 0; c < width; ++c) tile[c][k] = std::bit_cast<uint64_t>(cells[c]);
    }
    for (size_t c = 0; c < width; ++c) {
      const size_t before = strip.bytes.size();
      EncodeCells({tile[c], rows.size()}, blank, kind, &strip.bytes);
      if (strip.bytes.size() > before) used = first + c + 1;
      strip.ends.push_back(static_cast<uint32_t>(strip.bytes.size()));
    }
  }
  strip.ends.resize(used);
  strip.ends.shrink_to_fit();
  strip.bytes.shrink_to_fit();
  return strip;
}

void PaneArchive::Push(int64_t first, std::span<Pane> panes, const Shape& shape) {
  const int64_t number = FloorDiv(first, kBlock);
  PITWALL_CHECK(blocks_.empty() || number * kBlock == end());
  const int64_t skipped = first - number * kBlock;
  PITWALL_CHECK(skipped + static_cast<int64_t>(panes.size()) == kBlock);
  if (blocks_.empty()) first_ = number;
  Block& block = blocks_.emplace_back();
  const auto bit = [&](size_t k) { return uint64_t{1} << (static_cast<size_t>(skipped) + k); };
  for (size_t k = 0; k < panes.size(); ++k) {
    if (panes[k].form == PaneForm::kSingle) block.single |= bit(k);
    if (panes[k].form == PaneForm::kDeep) block.deep |= bit(k);
  }
  nonempty_ += static_cast<size_t>(std::popcount(block.single | block.deep));
  const auto pack = [&](Part part, Family family, size_t family_index) {
    const PaneForm form =
        part == Part::kValues || part == Part::kTimes ? PaneForm::kSingle : PaneForm::kDeep;
    std::vector<Row*> rows;
    uint64_t has = 0;
    for (size_t k = 0; k < panes.size(); ++k) {
      if (panes[k].form != form) continue;
      Row* row = RowOf(panes[k], part, family_index);
      if (!*row) continue;
      rows.push_back(row);
      has |= bit(k);
    }
    if (rows.empty()) return;
    for (uint8_t field = 0; field < FieldsOf(part, family); ++field) {
      block.strips.push_back(Pack(part, family, field, rows, has, shape));
      packed_bytes_ += block.strips.back().Size();
    }
  };
  pack(Part::kValues, Family::kSums, 0);
  pack(Part::kTimes, Family::kSums, 0);
  pack(Part::kScaled, Family::kSums, 0);
  for (size_t f = 0; f < shape.families.size(); ++f) pack(Part::kPartial, shape.families[f], f);
  block.strips.shrink_to_fit();
}

void PaneArchive::Unpack(const Block& block, const Shape& shape, Unpacked* to) {
  for (size_t k = 0; k < kMaxCodedCells; ++k) {
    Pane& pane = to->panes[k];
    if ((block.single >> k & 1) != 0) pane.form = PaneForm::kSingle;
    if ((block.deep >> k & 1) == 0) continue;
    pane.form = PaneForm::kDeep;
    pane.deep = std::make_unique<DeepPane>();
    pane.deep->partials.resize(shape.families.size());
  }
  uint64_t tile[kTile][kMaxCodedCells];
  for (const Strip& strip : block.strips) {
    const auto family =
        static_cast<size_t>(std::find(shape.families.begin(), shape.families.end(), strip.family) -
                            shape.families.begin());
    const uint32_t fields = FieldsOf(strip.part, strip.family);
    const uint64_t blank = BlankOf(fields);
    const CellKind kind = KindOf(strip);
    double* cells[kMaxCodedCells];
    size_t rows = 0;
    for (uint64_t left = strip.panes; left != 0; left &= left - 1) {
      Row* row = RowOf(to->panes[static_cast<size_t>(std::countr_zero(left))], strip.part, family);
      if (!*row) *row = shape.pool.NewIdentity(fields);
      cells[rows++] = row->cells() + strip.field * shape.pool.capacity();
    }
    for (size_t first = 0; first < strip.ends.size(); first += kTile) {
      const size_t width = std::min(kTile, strip.ends.size() - first);
      for (size_t c = 0; c < width; ++c) {
        const uint32_t begin = first + c == 0 ? 0 : strip.ends[first + c - 1];
        const bool sound = DecodeCells({strip.bytes.data() + begin, strip.ends[first + c] - begin},
                                       blank, kind, {tile[c], rows});
        PITWALL_CHECK(sound);  // looked at when it was loaded
      }
      for (size_t k = 0; k < rows; ++k) {
        for (size_t c = 0; c < width; ++c) cells[k][first + c] = std::bit_cast<double>(tile[c][k]);
      }
    }
  }
  for (Pane& pane : to->panes) {
    if (pane.form != PaneForm::kSingle) continue;
    for (size_t i = 0; i < shape.columns; ++i)
      pane.present += IsMissing(pane.values.cells()[i]) ? 0 : 1;
  }
}

const Pane* PaneArchive::At(int64_t index, const Shape& shape) {
  const int64_t number = FloorDiv(index, kBlock);
  if (number < first_ || index >= end() || blocks_.empty()) return nullptr;
  const Block& block = blocks_[static_cast<size_t>(number - first_)];
  const auto k = static_cast<size_t>(index - number * kBlock);
  if (((block.single | block.deep) >> k & 1) == 0) return nullptr;
  for (const auto& unpacked : unpacked_) {
    if (unpacked->block != number) continue;
    unpacked->used = round_;
    return &unpacked->panes[k];
  }
  if (unpacked_.size() >= most_unpacked_) {
    // The one not read for longest; of equals the oldest.
    unpacked_.erase(
        std::min_element(unpacked_.begin(), unpacked_.end(),
                         [](const auto& a, const auto& b) { return a->used < b->used; }));
  }
  unpacked_.push_back(std::make_unique<Unpacked>());
  Unpacked& unpacked = *unpacked_.back();
  unpacked.block = number;
  unpacked.used = round_;
  Unpack(block, shape, &unpacked);
  return &unpacked.panes[k];
}

void PaneArchive::Forget(size_t readers) {
  most_unpacked_ = readers + 2;
  std::erase_if(unpacked_, [&](const auto& unpacked) { return unpacked->used < round_; });
  ++round_;
}

void PaneArchive::PopFront() {
  const Block& block = blocks_.front();
  nonempty_ -= static_cast<size_t>(std::popcount(block.single | block.deep));
  for (const Strip& strip : block.strips) packed_bytes_ -= strip.Size();
  std::erase_if(unpacked_, [&](const auto& unpacked) { return unpacked->block == first_; });
  blocks_.pop_front();
  ++first_;
}

void PaneArchive::DropStrips(Block* block, Part part, Family family) {
  for (const Strip& strip : block->strips) {
    if (strip.part == part && strip.family == family) packed_bytes_ -= strip.Size();
  }
  std::erase_if(block->strips,
                [&](const Strip& strip) { return strip.part == part && strip.family == family; });
}

void PaneArchive::Trim(int64_t all, int64_t times, const std::vector<Family>& families,
                       const std::vector<int64_t>& partials) {
  while (!blocks_.empty() && (first_ + 1) * kBlock <= all) PopFront();
  const int64_t end = first_ + static_cast<int64_t>(blocks_.size());
  // One block at a time leaves the reach of each kind; those before it have nothing left.
  const auto drop = [&](int64_t before, Part part, Family family) {
    for (int64_t number = std::min(FloorDiv(before, kBlock), end) - 1; number >= first_; --number) {
      Block& block = blocks_[static_cast<size_t>(number - first_)];
      const size_t strips = block.strips.size();
      DropStrips(&block, part, family);
      if (block.strips.size() == strips) break;
    }
  };
  drop(times, Part::kTimes, Family::kSums);
  for (size_t f = 0; f < families.size(); ++f) {
    drop(partials[f], Part::kPartial, families[f]);
    if (families[f] == Family::kSums) drop(partials[f], Part::kScaled, Family::kSums);
  }
}

void PaneArchive::Retain(const std::vector<Family>& families, bool times) {
  unpacked_.clear();
  const auto used = [&](Family family) {
    return std::find(families.begin(), families.end(), family) != families.end();
  };
  for (Block& block : blocks_) {
    if (!times) DropStrips(&block, Part::kTimes, Family::kSums);
    if (!used(Family::kSums)) DropStrips(&block, Part::kScaled, Family::kSums);
    for (size_t f = 0; f < kPartialFamilies; ++f) {
      const auto family = static_cast<Family>(f);
      if (!used(family)) DropStrips(&block, Part::kPartial, family);
    }
  }
}

int64_t PaneArchive::DropOldest() {
  PopFront();
  return first_ * kBlock - 1;
}

void PaneArchive::Clear() {
  unpacked_.clear();
  blocks_.clear();
  nonempty_ = packed_bytes_ = 0;
}

void PaneArchive::Remap(const std::vector<uint32_t>& keep) {
  unpacked_.clear();
  packed_bytes_ = 0;
  size_t same = 0;  // the first columns that stay where they are
  while (same < keep.size() && keep[same] == same) ++same;
  for (Block& block : blocks_) {
    for (Strip& strip : block.strips) {
      if (same < strip.ends.size()) {
        std::vector<uint32_t> ends;
        std::vector<uint8_t> bytes;
        size_t used = 0;
        for (const uint32_t column : keep) {
          if (column < strip.ends.size()) {
            const auto begin = strip.bytes.begin() + (column == 0 ? 0 : strip.ends[column - 1]);
            const auto end = strip.bytes.begin() + strip.ends[column];
            bytes.insert(bytes.end(), begin, end);
            if (begin != end) used = ends.size() + 1;
          }
          ends.push_back(static_cast<uint32_t>(bytes.size()));
        }
        ends.resize(used);
        ends.shrink_to_fit();
        bytes.shrink_to_fit();
        strip.ends = std::move(ends);
        strip.bytes = std::move(bytes);
      }
      packed_bytes_ += strip.Size();
    }
  }
}

size_t PaneArchive::MemoryBytes() const {
  size_t bytes = unpacked_.size() * sizeof(Unpacked);
  for (const Block& block : blocks_) {
    bytes += sizeof(Block) + block.strips.capacity() * sizeof(Strip);
    for (const Strip& strip : block.strips)
      bytes += strip.bytes.capacity() + strip.ends.capacity() * sizeof(uint32_t);
  }
  return bytes;
}

void PaneArchive::Save(BinaryWriter& out) const {
  out.U64(blocks_.size());
  out.I64(first_);
  for (const Block& block : blocks_) {
    out.U64(block.single);
    out.U64(block.deep);
    out.U64(block.strips.size());
    for (const Strip& strip : block.strips) {
      out.U8(static_cast<uint8_t>(strip.part));
      out.U8(static_cast<uint8_t>(strip.family));
      out.U8(strip.field);
      out.U64(strip.panes);
      out.U64(strip.ends.size());
      uint32_t before = 0;
      for (const uint32_t end : strip.ends) out.U64(end - std::exchange(before, end));
      out.Bytes(strip.bytes);
    }
  }
}

bool PaneArchive::IsSound(const Strip& strip) {
  if (!strip.ends.empty() && strip.ends.back() != strip.bytes.size()) return false;
  if (strip.ends.empty() && !strip.bytes.empty()) return false;
  const uint64_t blank = BlankOf(FieldsOf(strip.part, strip.family));
  const auto rows = static_cast<size_t>(std::popcount(strip.panes));
  uint64_t cells[kMaxCodedCells];
  uint32_t begin = 0;
  for (const uint32_t end : strip.ends) {
    if (end > strip.bytes.size() || !DecodeCells({strip.bytes.data() + begin, end - begin}, blank,
                                                 KindOf(strip), {cells, rows})) {
      return false;
    }
    begin = end;
  }
  return true;
}

void PaneArchive::Load(BinaryReader& in, const std::vector<Family>& families, size_t columns,
                       int64_t times) {
  Clear();
  const size_t n = in.Count(3);
  first_ = in.I64();
  if (first_ < FloorDiv(kMinPosition, kBlock) || first_ > kMaxPosition / kBlock) in.Fail();
  for (size_t b = 0; b < n && in.ok(); ++b) {
    Block& block = blocks_.emplace_back();
    block.single = in.U64();
    block.deep = in.U64();
    if ((block.single & block.deep) != 0) in.Fail();
    uint64_t values = 0, timed = 0;
    const size_t strips = in.Count(5);
    for (size_t s = 0; s < strips && in.ok(); ++s) {
      Strip& strip = block.strips.emplace_back();
      const uint8_t part = in.U8(), family = in.U8();
      strip.part = static_cast<Part>(part);
      strip.family = static_cast<Family>(family);
      strip.field = in.U8();
      strip.panes = in.U64();
      const bool in_deep = strip.part == Part::kScaled || strip.part == Part::kPartial;
      const bool known = strip.part == Part::kPartial
                             ? std::count(families.begin(), families.end(), strip.family) > 0
                             : strip.family == Family::kSums;
      if (part > static_cast<uint8_t>(Part::kPartial) || !known ||
          strip.field >= FieldsOf(strip.part, strip.family) ||
          (strip.panes & ~(in_deep ? block.deep : block.single)) != 0) {
        in.Fail();
        break;
      }
      const size_t ends = in.Count(1);
      if (ends > columns) in.Fail();
      uint64_t end = 0;
      for (size_t i = 0; i < ends && in.ok(); ++i) {
        end += in.U64();
        if (end > UINT32_MAX) in.Fail();
        strip.ends.push_back(static_cast<uint32_t>(end));
      }
      strip.bytes = in.Bytes();
      if (in.ok() && !IsSound(strip)) in.Fail();
      if (strip.part == Part::kValues) values |= strip.panes;
      if (strip.part == Part::kTimes) timed |= strip.panes;
      packed_bytes_ += strip.Size();
    }
    const int64_t untimed = times - (first_ + static_cast<int64_t>(b)) * kBlock;  // so many panes
    const uint64_t need =
        untimed >= kBlock ? 0 : ~uint64_t{0} << std::max<int64_t>(0, untimed) & block.single;
    if (values != block.single || (need & ~timed) != 0) in.Fail();
    nonempty_ += static_cast<size_t>(std::popcount(block.single | block.deep));
  }
}

}  // namespace pitwall::window
