// Samples in a track's open pane before they are folded into partials. Layer j contains the j-th
// sample of each column.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/window/kernels/row.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"

namespace pitwall::window {

// Not thread-safe. Positions are kept only if the plan in the shape is timed.
class SampleLayers {
 public:
  static constexpr uint32_t kMax = 16;

  // `capacity` is the row capacity of the pool.
  explicit SampleLayers(size_t capacity) : depth_(capacity, 0) {}

  // Returns the number of layers with samples.
  uint32_t used() const { return used_; }
  // Returns the number of samples in the column, at most kMax.
  uint32_t depth(uint32_t column) const { return depth_[column]; }
  // Prepares layer used() for Put.
  void Open(uint32_t layer, const PaneShape& shape);
  // Adds a sample. Requires layer == depth(column) < used().
  void Put(uint32_t layer, uint32_t column, Position position, double value, bool timed) {
    cells_[layer][column] = value;
    if (timed) time_cells_[layer][column] = position.ns();
    depth_[column] = static_cast<uint8_t>(layer + 1);
    ++counts_[layer];
  }

  // These functions return the rows of a used layer. `times` is null if the plan is not timed.
  const Row& values(uint32_t layer) const { return values_[layer]; }
  const Row& times(uint32_t layer) const { return times_[layer]; }
  const double* cells(uint32_t layer) const { return cells_[layer]; }
  const int64_t* time_cells(uint32_t layer) const { return time_cells_[layer]; }
  uint32_t count(uint32_t layer) const { return counts_[layer]; }

  // Releases the rows. Other handles keep them alive.
  void Clear(size_t columns);
  // `capacity` is the row capacity of the pool that receives the mapped rows.
  void Remap(RowMapper& mapper, size_t capacity);
  void Save(BinaryWriter& out, const PaneCodec& codec) const;
  void Load(BinaryReader& in, const PaneCodec& codec);
  size_t MemoryBytes() const { return depth_.capacity(); }

 private:
  uint32_t used_ = 0;
  std::array<Row, kMax> values_, times_;
  std::array<double*, kMax> cells_{};
  std::array<int64_t*, kMax> time_cells_{};
  std::array<uint32_t, kMax> counts_{};  // number of samples in each layer
  std::vector<uint8_t> depth_;           // number of samples in each column
};

}  // namespace pitwall::window
