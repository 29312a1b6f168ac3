// The blocks of an archive that are unpacked now, since some window reads them: a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/window/panes/packed_block.h"

namespace pitwall::window {

// Not thread-safe. Blocks are known by their number.
class UnpackedBlocks {
 public:
  // nullptr if it is not unpacked. Valid until two other blocks were added.
  const PackedBlock::Panes* Find(int64_t number);
  // Empty panes to unpack the block into. May drop the block that was not read for longest.
  PackedBlock::Panes& Add(int64_t number);
  // Drops the blocks that nobody read since the call before. `readers`: blocks that are read side
  // by side.
  void Forget(size_t readers);
  void Remove(int64_t number);
  void Clear() { blocks_.clear(); }
  size_t MemoryBytes() const { return blocks_.size() * sizeof(Block); }

 private:
  struct Block {
    int64_t number;
    uint64_t read;  // round_ of the last read
    PackedBlock::Panes panes;
  };

  std::vector<std::unique_ptr<Block>> blocks_;  // in order of Add
  size_t most_ = 4;
  uint64_t round_ = 1;
};

}  // namespace pitwall::window
