// Samples of the open pane of a track, before they are folded into partials: layer j holds the j-th
// sample of each column.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/row.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"

namespace pitwall::window {

// Not thread-safe. Positions are kept where the plan of the shape is timed.
class SampleLayers {
 public:
  static constexpr uint32_t kMax = 16;

  // `capacity`: that of the pool.
  explicit SampleLayers(size_t capacity) : depth_(capacity, 0) {}

  // Layers with samples.
  uint32_t used() const { return used_; }
  // Samples of the column: kMax at most.
  uint32_t depth(uint32_t column) const { return depth_[column]; }
  // Prepares layer used() for Put.
  void Open(uint32_t layer, const PaneShape& shape);
  // Precondition: layer == depth(column) < used().
  void Put(uint32_t layer, uint32_t column, int64_t position, double value, bool timed) {
    cells_[layer][column] = value;
    if (timed) time_cells_[layer][column] = position;
    depth_[column] = static_cast<uint8_t>(layer + 1);
    ++counts_[layer];
  }

  // Of a used layer. `times` is null where the plan is not timed.
  const Row& values(uint32_t layer) const { return values_[layer]; }
  const Row& times(uint32_t layer) const { return times_[layer]; }
  const double* cells(uint32_t layer) const { return cells_[layer]; }
  const int64_t* time_cells(uint32_t layer) const { return time_cells_[layer]; }
  uint32_t count(uint32_t layer) const { return counts_[layer]; }

  // Releases the rows. Handles that others hold keep them.
  void Clear(size_t columns);
  // `capacity`: that of the pool of the mapped rows.
  void Remap(RowMapper& mapper, size_t capacity);
  void Save(BinaryWriter& out, const PaneCodec& codec) const;
  void Load(BinaryReader& in, const PaneCodec& codec);
  size_t MemoryBytes() const { return depth_.capacity(); }

 private:
  uint32_t used_ = 0;
  std::array<Row, kMax> values_, times_;
  std::array<double*, kMax> cells_{};
  std::array<int64_t*, kMax> time_cells_{};
  std::array<uint32_t, kMax> counts_{};  // samples by layer
  std::vector<uint8_t> depth_;           // by column
};

}  // namespace pitwall::window
