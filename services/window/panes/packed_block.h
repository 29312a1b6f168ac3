// A packed block of 64 adjacent panes of a track.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/cell_codec.h"
#include "services/window/panes/packed_strip.h"
#include "services/window/panes/pane_plan.h"

namespace pitwall::window {

// Packed panes. A block contains neither the samples that ordered windows keep nor columns that
// were added after packing.
class PackedBlock {
 public:
  static constexpr size_t kPanes = kMaxCodedCells;
  using Panes = std::array<Pane, kPanes>;

  PackedBlock() = default;
  // Packs the last panes of the block. The panes before them are empty.
  PackedBlock(std::span<Pane> panes, const PaneShape& shape);

  bool HasPane(size_t pane) const { return ((single_ | deep_) >> pane & 1) != 0; }
  // Returns the number of panes with samples. Removed columns still count.
  size_t nonempty() const;
  // Returns the size of the packed samples in bytes. The size depends only on the samples, not on
  // the allocator.
  size_t Size() const;
  size_t MemoryBytes() const;

  // Unpacks the block into `panes`. All of them must be empty.
  void Unpack(const PaneShape& shape, Panes& panes) const;
  // Drops the strips of this kind. Returns whether there were any strips.
  bool Drop(PanePart part, Family family);
  // Drops everything that the plan does not need.
  void Retain(const PanePlan& plan);
  // Reorders the columns: column i of the result was column keep[i]. The first `same` columns do
  // not move.
  void Remap(const std::vector<uint32_t>& keep, size_t same);

  void Save(BinaryWriter& out) const;
  // Marks the reader as failed if the bytes are damaged, have a different shape, or lack the
  // positions of panes after the first `untimed` panes.
  void Load(BinaryReader& in, const PaneShape& shape, int64_t untimed);

 private:
  void Pack(PanePart part, Family family, size_t family_index, std::span<Pane> panes,
            const PaneShape& shape);

  uint64_t single_ = 0, deep_ = 0;  // bit masks of the panes with this form
  std::vector<PackedStrip> strips_;
};

}  // namespace pitwall::window
