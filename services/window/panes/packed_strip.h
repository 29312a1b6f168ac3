// One field of one row kind over the panes of a block, packed column by column (cell_codec.h). The
// size of a column depends on its samples, so a column that was added late takes no space in
// earlier blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"
#include "services/window/panes/cell_codec.h"
#include "services/window/panes/pane_plan.h"

namespace pitwall::window {

// A kind of row in a pane. The numeric values are stored in snapshots.
enum class PanePart : uint8_t { kValues = 0, kTimes = 1, kScaled = 2, kPartial = 3 };

// Returns whether the part belongs to deep panes; the other parts belong to single panes.
bool IsOfDeepPane(PanePart part);
// `family` and its index in the plan are used only for kPartial.
uint32_t FieldsOf(PanePart part, Family family);
Row& RowOf(Pane& pane, PanePart part, size_t family_index);

// Field `field` of the rows of this part. `family` is kSums unless the part is kPartial.
struct StripKind {
  PanePart part = PanePart::kValues;
  Family family = Family::kSums;
  uint8_t field = 0;
};

class PackedStrip {
 public:
  PackedStrip() = default;
  // `panes` is the bit mask of the block's panes that have these rows. The rows are in pane order.
  PackedStrip(const StripKind& kind, uint64_t panes, std::span<Row*> rows, const PaneShape& shape);

  PanePart part() const { return kind_.part; }
  Family family() const { return kind_.family; }
  uint64_t panes() const { return panes_; }
  // Returns the size in bytes. The size depends only on the samples, not on the allocator.
  size_t Size() const { return bytes_.size() + ends_.size() * sizeof(uint32_t); }
  size_t MemoryBytes() const { return bytes_.capacity() + ends_.capacity() * sizeof(uint32_t); }

  // Writes the field into the rows of its panes and creates the rows that are null. `block` is
  // indexed by pane.
  void Unpack(std::span<Pane> block, const PaneShape& shape) const;
  // Reorders the columns: column i of the result was column keep[i]. The first `same` columns do
  // not move.
  void Remap(const std::vector<uint32_t>& keep, size_t same);

  void Save(BinaryWriter& out) const;
  // Returns false and marks the reader as failed if the bytes are damaged or have a different
  // shape.
  bool Load(BinaryReader& in, const PaneShape& shape);

 private:
  CellKind kind() const;
  bool IsKnown(uint8_t part, const PanePlan& plan) const;
  bool IsSound() const;

  StripKind kind_;
  uint64_t panes_ = 0;
  std::vector<uint32_t> ends_;  // by column: end of the column's code in bytes_
  std::vector<uint8_t> bytes_;
};

}  // namespace pitwall::window
