// The older panes of a track with long windows, packed in blocks. A block is unpacked while a
// window edge passes through it, and the unpacked panes are dropped afterward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/packed_block.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/unpacked_blocks.h"

namespace pitwall::window {

// Archive of packed panes. Not thread-safe. Blocks are cut at multiples of kBlock.
class PaneArchive {
 public:
  static constexpr auto kBlock = static_cast<int64_t>(PackedBlock::kPanes);

  bool empty() const { return blocks_.empty(); }
  // Returns the index of the first pane that is neither archived nor dropped. Unspecified if the
  // archive is empty.
  PaneIndex end() const {
    return PaneIndex((first_ + static_cast<int64_t>(blocks_.size())) * kBlock);
  }
  // Packs the panes from `first` to the end of their block. `first` must be end() unless the
  // archive is empty.
  void Push(PaneIndex first, std::span<Pane> panes, const PaneShape& shape);
  // Returns the pane at `index`, or nullptr if it is not stored. Valid until two other panes are
  // requested or any other function is called.
  const Pane* At(PaneIndex index, const PaneShape& shape);
  // Drops unpacked blocks that have not been read since the previous call. `readers` is the number
  // of positions in the archive that are read in parallel.
  void Forget(size_t readers) { unpacked_.Forget(readers); }

  // Drops the blocks, positions, and partials that the plan does not need. `open` is the index of
  // the open pane.
  void Trim(PaneIndex open, const PanePlan& plan);
  // Drops everything that the plan does not need.
  void Retain(const PanePlan& plan);
  // Drops the oldest block and returns the index of its last pane.
  PaneIndex DropOldest();
  void Clear();
  // Reorders the columns: column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);

  // Returns the number of panes with samples. Removed columns still count.
  size_t nonempty() const { return nonempty_; }
  // Returns the size of the packed samples in bytes. The size depends only on the samples, not on
  // the allocator.
  size_t PackedBytes() const { return packed_bytes_; }
  size_t MemoryBytes() const;

  void Save(BinaryWriter& out) const;
  // Marks the reader as failed if the bytes are damaged, have a different shape, or lack the
  // positions of panes starting at `times`.
  void Load(BinaryReader& in, const PaneShape& shape, PaneIndex times);

 private:
  void PopFront();
  // Drops a row kind from the blocks that are entirely before this pane index.
  void DropBefore(PaneIndex pane, PanePart part, Family family);

  std::deque<PackedBlock> blocks_;
  int64_t first_ = 0;        // block number of blocks_.front()
  size_t nonempty_ = 0;      // sum over all blocks
  size_t packed_bytes_ = 0;  // sum of Size over all blocks
  UnpackedBlocks unpacked_;
};

}  // namespace pitwall::window
