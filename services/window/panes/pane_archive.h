// The older panes of a track of long windows, packed in blocks. A block is unpacked when a window's
// end passes through it, and dropped again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/pane.h"
#include "services/window/panes/packed_block.h"
#include "services/window/panes/pane_plan.h"
#include "services/window/panes/unpacked_blocks.h"

namespace pitwall::window {

// Not thread-safe. Blocks are cut at multiples of kBlock.
class PaneArchive {
 public:
  static constexpr auto kBlock = static_cast<int64_t>(PackedBlock::kPanes);

  bool empty() const { return blocks_.empty(); }
  // Pane index before which everything is archived, or was and is dropped. Without meaning when
  // empty.
  int64_t end() const { return (first_ + static_cast<int64_t>(blocks_.size())) * kBlock; }
  // Packs panes `first`.. to the end of their block, which must be end() unless this is empty.
  void Push(int64_t first, std::span<Pane> panes, const PaneShape& shape);
  // Pane `index`, nullptr where nothing is held. Valid until two others were asked for or anything
  // else was called.
  const Pane* At(int64_t index, const PaneShape& shape);
  // `readers`: how many places of the archive are read side by side. Drops what was unpacked and
  // not read since the call before.
  void Forget(size_t readers) { unpacked_.Forget(readers); }

  // Drops the blocks, and their positions and partials, that the plan does not keep behind the open
  // pane `open`.
  void Trim(int64_t open, const PanePlan& plan);
  // Drops all that the plan lacks.
  void Retain(const PanePlan& plan);
  // Drops the oldest block. The index of its last pane.
  int64_t DropOldest();
  void Clear();
  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);

  // Panes with samples. Columns that went since are still counted.
  size_t nonempty() const { return nonempty_; }
  // Bytes of packed samples: a function of the samples, whatever the allocator does.
  size_t PackedBytes() const { return packed_bytes_; }
  size_t MemoryBytes() const;

  void Save(BinaryWriter& out) const;
  // Fails the reader for damaged bytes, those of another shape, and those that lack positions of
  // panes from `times` on.
  void Load(BinaryReader& in, const PaneShape& shape, int64_t times);

 private:
  void PopFront();
  // Drops a kind of row from the blocks that lie wholly before this pane index.
  void DropBefore(int64_t pane, PanePart part, Family family);

  std::deque<PackedBlock> blocks_;
  int64_t first_ = 0;        // block number of blocks_.front()
  size_t nonempty_ = 0;      // sum of the blocks'
  size_t packed_bytes_ = 0;  // sum of the blocks' Size
  UnpackedBlocks unpacked_;
};

}  // namespace pitwall::window
