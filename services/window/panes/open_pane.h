// The pane of a track that contains the newest position. Its samples are kept in layers, which are
// folded into partials once there are many of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/pane_codec.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/panes/sample_layers.h"
#include "services/window/panes/sample_limits.h"

namespace pitwall::window {

// Not thread-safe. The track passes the shape of its rows and the limits of its ordered windows to
// each call.
class OpenPane {
 public:
  // `capacity` is the row capacity of the pool.
  explicit OpenPane(size_t capacity) : layers_(capacity) {}

  // Returns whether the pane has no samples.
  bool empty() const { return layers_.used() == 0 && !folded_; }
  // Returns whether the track has ever received a value above kHuge. If so, its deep panes keep
  // scaled sums.
  bool huge() const { return huge_; }
  void MarkHuge() { huge_ = true; }

  // Adds samples. See Track::Scatter.
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values, const PaneShape& shape,
               SampleLimits& limits);
  // Returns the pane with all samples so far. Valid until the next change.
  const Pane& Settle(const PaneShape& shape, SampleLimits& limits) {
    if (!settled_) MakePane(shape, limits);
    return pane_;
  }
  // Returns the settled pane and starts the next pane without samples.
  Pane Close(const PaneShape& shape, SampleLimits& limits);

  // Drops everything that the new plan does not need. Call Settle first.
  void Adapt(const PanePlan& plan, const PanePlan& before) { plan.Adapt(pane_, before); }
  // `capacity` is the row capacity of the pool that receives the mapped rows.
  void Remap(RowMapper& mapper, size_t capacity);
  void Reset(size_t columns);

  // The snapshot consists of two parts: first the flags, then the samples.
  void SaveFlags(BinaryWriter& out) const;
  void LoadFlags(BinaryReader& in);
  void SaveSamples(BinaryWriter& out, const PaneCodec& codec) const;
  void LoadSamples(BinaryReader& in, const PaneCodec& codec);
  // Returns the partials and samples folded so far, or null if nothing was folded.
  const DeepPane* folded() const { return pane_.deep.get(); }
  size_t MemoryBytes() const { return layers_.MemoryBytes(); }

 private:
  void MakePane(const PaneShape& shape, SampleLimits& limits);
  void FoldLayers(const PaneShape& shape, SampleLimits& limits);
  void FoldPartial(size_t family_index, const PaneShape& shape);
  void FoldScaled(size_t sums_index, const PaneShape& shape);

  Pane pane_;             // the pane as of the last MakePane call
  bool settled_ = false;  // whether pane_ is up to date
  bool folded_ = false;   // whether layers were folded into pane_.deep
  bool huge_ = false;
  uint64_t version_ = 1;
  SampleLayers layers_;
};

}  // namespace pitwall::window
