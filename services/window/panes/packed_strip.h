// One field of one kind of row over the panes of a block, packed column by column (cell_codec.h). A
// column costs what its samples cost, so one that came late costs nothing in the blocks before it.
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

// A kind of row of a pane. The numbers are in snapshots.
enum class PanePart : uint8_t { kValues = 0, kTimes = 1, kScaled = 2, kPartial = 3 };

// Whether the part is one of deep panes; the others are of single panes.
bool IsOfDeepPane(PanePart part);
// `family` and its index in the plan: of kPartial.
uint32_t FieldsOf(PanePart part, Family family);
Row& RowOf(Pane& pane, PanePart part, size_t family_index);

// Field `field` of the rows of this part. `family` is kSums but for kPartial.
struct StripKind {
  PanePart part = PanePart::kValues;
  Family family = Family::kSums;
  uint8_t field = 0;
};

class PackedStrip {
 public:
  PackedStrip() = default;
  // `panes`: bits of the panes of the block that have these rows, in order.
  PackedStrip(const StripKind& kind, uint64_t panes, std::span<Row*> rows, const PaneShape& shape);

  PanePart part() const { return kind_.part; }
  Family family() const { return kind_.family; }
  uint64_t panes() const { return panes_; }
  // Bytes: a function of the samples, whatever the allocator does.
  size_t Size() const { return bytes_.size() + ends_.size() * sizeof(uint32_t); }
  size_t MemoryBytes() const { return bytes_.capacity() + ends_.capacity() * sizeof(uint32_t); }

  // Writes the field into rows of its panes, making those that are null. `block`: by pane.
  void Unpack(std::span<Pane> block, const PaneShape& shape) const;
  // Column i of the result was column keep[i]. The first `same` stay where they are.
  void Remap(const std::vector<uint32_t>& keep, size_t same);

  void Save(BinaryWriter& out) const;
  // False, with the reader failed, for damaged bytes and those of another shape.
  bool Load(BinaryReader& in, const PaneShape& shape);

 private:
  CellKind kind() const;
  bool IsKnown(uint8_t part, const PanePlan& plan) const;
  bool IsSound() const;

  StripKind kind_;
  uint64_t panes_ = 0;
  std::vector<uint32_t> ends_;  // by column: of its code in bytes_
  std::vector<uint8_t> bytes_;
};

}  // namespace pitwall::window
