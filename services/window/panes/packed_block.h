// 64 neighboring panes of a track, packed.
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

// Holds neither samples that ordered windows keep nor columns beyond those that it was packed with.
class PackedBlock {
 public:
  static constexpr size_t kPanes = kMaxCodedCells;
  using Panes = std::array<Pane, kPanes>;

  PackedBlock() = default;
  // The last panes of the block; those before them are empty.
  PackedBlock(std::span<Pane> panes, const PaneShape& shape);

  bool HasPane(size_t pane) const { return ((single_ | deep_) >> pane & 1) != 0; }
  // Panes with samples. Columns that went since are still counted.
  size_t nonempty() const;
  // Bytes of packed samples: a function of the samples, whatever the allocator does.
  size_t Size() const;
  size_t MemoryBytes() const;

  // `panes`: all empty.
  void Unpack(const PaneShape& shape, Panes& panes) const;
  // Drops the strips of this kind. Whether there were any.
  bool Drop(PanePart part, Family family);
  // Drops all that the plan lacks.
  void Retain(const PanePlan& plan);
  // Column i of the result was column keep[i]. The first `same` stay where they are.
  void Remap(const std::vector<uint32_t>& keep, size_t same);

  void Save(BinaryWriter& out) const;
  // Fails the reader for damaged bytes, those of another shape, and those that lack positions of a
  // pane after the first `untimed`.
  void Load(BinaryReader& in, const PaneShape& shape, int64_t untimed);

 private:
  void Pack(PanePart part, Family family, size_t family_index, std::span<Pane> panes,
            const PaneShape& shape);

  uint64_t single_ = 0, deep_ = 0;  // panes of this form
  std::vector<PackedStrip> strips_;
};

}  // namespace pitwall::window
