// Limits to the samples that the panes of one track keep for its ordered windows. A window of more
// samples than its limit has no result until the next multiple of its length, so samples that would
// only exceed the limits of all windows are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/row_mapper.h"
#include "services/window/panes/sample_layers.h"

namespace pitwall::window {

// Not thread-safe. Counts the samples of each column in the open pane, and in the deep panes since
// the last multiple of each window's length.
class SampleLimits {
 public:
  // The lengths of the ordered windows in panes; each has a limit of `max_samples` by column.
  void SetWindows(const std::vector<int64_t>& lengths, uint32_t max_samples);

  // Moves the samples of the layers to the open pane: whole rows where most columns can use them,
  // else one by one.
  void Keep(const SampleLayers& layers, size_t columns, DeepPane& deep);
  // The open pane, whose index is `index`, closes.
  void ClosePane(int64_t index, bool deep, size_t columns);
  // Empty panes follow, at least to the end of every block.
  void SkipPanes();
  // Counts the samples of the closed panes again; the last of them is pane open - 1.
  void Count(const std::deque<Pane>& closed, int64_t open, size_t columns);

  void Remap(const RowMapper& mapper);
  void Reset();
  void Save(BinaryWriter& out) const { out.U32s(kept_); }
  // `open`: the open pane if it is deep, else null.
  void Load(BinaryReader& in, size_t columns, const DeepPane* open);
  size_t MemoryBytes() const;

 private:
  struct Window {
    int64_t length;
    std::vector<uint32_t> samples;  // by column; may be shorter than the columns
  };

  bool IsOver(size_t column) const;

  uint32_t max_samples_ = 0;
  std::vector<Window> windows_;
  // By column, of the open pane: samples kept, and whether some were dropped.
  std::vector<uint32_t> kept_;
  std::vector<uint8_t> dropped_;
};

}  // namespace pitwall::window
