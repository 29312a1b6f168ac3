// The pane of a track that holds the newest position: its samples wait in layers, which are folded
// into partials once there are many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/base/binary.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/panes/sample_layers.h"
#include "services/window/panes/sample_limits.h"

namespace pitwall::window {

// Not thread-safe. The track gives each call the shape of its rows and the limits of its ordered
// windows.
class OpenPane {
 public:
  // `capacity`: that of the pool.
  explicit OpenPane(size_t capacity) : layers_(capacity) {}

  // Whether it has no sample.
  bool empty() const { return layers_.used() == 0 && !folded_; }
  // Whether the track ever had a value beyond kHuge: its deep panes keep scaled sums.
  bool huge() const { return huge_; }
  void MarkHuge() { huge_ = true; }

  // As Track::Scatter.
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values, const PaneShape& shape, SampleLimits& limits);
  // The pane with all samples so far. Valid until the next change.
  const Pane& Settle(const PaneShape& shape, SampleLimits& limits) {
    if (!settled_) MakePane(shape, limits);
    return pane_;
  }
  // The settled pane; the next one begins without samples.
  Pane Close(const PaneShape& shape, SampleLimits& limits);

  // Settle first. Drops all that the plan lacks.
  void Adapt(const PanePlan& plan, const PanePlan& before) { plan.Adapt(pane_, before); }
  // `capacity`: that of the pool of the mapped rows.
  void Remap(RowMapper& mapper, size_t capacity);
  void Reset(size_t columns);

  // The snapshot has two parts: flags, then samples.
  void SaveFlags(BinaryWriter& out) const;
  void LoadFlags(BinaryReader& in);
  void SaveSamples(BinaryWriter& out, const PaneCodec& codec) const;
  void LoadSamples(BinaryReader& in, const PaneCodec& codec);
  // Partials and samples that were folded so far; null without any.
  const DeepPane* folded() const { return pane_.deep.get(); }
  size_t MemoryBytes() const { return layers_.MemoryBytes(); }

 private:
  void MakePane(const PaneShape& shape, SampleLimits& limits);
  void FoldLayers(const PaneShape& shape, SampleLimits& limits);
  void FoldPartial(size_t family_index, const PaneShape& shape);
  void FoldScaled(size_t sums_index, const PaneShape& shape);

  Pane pane_;             // as of MakePane
  bool settled_ = false;  // pane_ is up to date
  bool folded_ = false;   // layers were folded into pane_.deep
  bool huge_ = false;
  uint64_t version_ = 1;
  SampleLayers layers_;
};

}  // namespace pitwall::window
