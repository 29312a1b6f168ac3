// Limits on the samples that a track's panes keep for its ordered windows. A window with more
// samples than its limit has no result until the next multiple of its length. A sample is therefore
// dropped if every window is already over its limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/panes/sample_layers.h"

namespace pitwall::window {

// Counts the samples of each column in the open pane, and the samples in the deep panes since the
// last multiple of each window's length. Not thread-safe.
class SampleLimits {
 public:
  // Sets the lengths of the ordered windows in panes. Each window has a limit of `max_samples` per
  // column.
  void SetWindows(const std::vector<int64_t>& lengths, uint32_t max_samples);

  // Moves the samples of the layers to the open pane. A row is moved as a whole if most columns can
  // use it; otherwise, samples are moved individually.
  void Keep(const SampleLayers& layers, size_t columns, DeepPane& deep);
  // Closes the open pane, whose index is `index`.
  void ClosePane(PaneIndex index, bool deep, size_t columns);
  // Skips empty panes up to or past the next multiple of every window's length.
  void SkipPanes();
  // Recounts the samples in the closed panes. The last closed pane is open - 1.
  void Count(const std::deque<Pane>& closed, PaneIndex open, size_t columns);

  void Remap(const RowMapper& mapper);
  void Reset();
  void Save(BinaryWriter& out) const { out.U32s(kept_); }
  // `open` is the open pane if it is deep, otherwise nullptr.
  void Load(BinaryReader& in, size_t columns, const DeepPane* open);
  size_t MemoryBytes() const;

 private:
  struct Window {
    int64_t length;
    std::vector<uint32_t> samples;  // by column; may have fewer elements than there are columns
  };

  bool IsOver(size_t column) const;

  uint32_t max_samples_ = 0;
  std::vector<Window> windows_;
  // Samples kept in the open pane, and whether samples were dropped, by column.
  std::vector<uint32_t> kept_;
  std::vector<uint8_t> dropped_;
};

}  // namespace pitwall::window
