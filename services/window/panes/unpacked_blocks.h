// The few blocks of an archive that are currently unpacked because windows read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/window/panes/packed_block.h"

namespace pitwall::window {

// Not thread-safe. Blocks are identified by number.
class UnpackedBlocks {
 public:
  // Returns nullptr if the block is not unpacked. The pointer is valid until two other blocks are
  // added.
  const PackedBlock::Panes* Find(int64_t number);
  // Returns empty panes into which the caller unpacks the block. May drop the least recently read
  // block.
  PackedBlock::Panes& Add(int64_t number);
  // Drops the blocks that have not been read since the previous call. `readers` is the number of
  // blocks that are read in parallel.
  void Forget(size_t readers);
  void Remove(int64_t number);
  void Clear() { blocks_.clear(); }
  size_t MemoryBytes() const { return blocks_.size() * sizeof(Block); }

 private:
  struct Block {
    int64_t number;
    uint64_t read;  // value of round_ at the last read
    PackedBlock::Panes panes;
  };

  std::vector<std::unique_ptr<Block>> blocks_;  // in the order of the Add calls
  size_t most_ = 4;
  uint64_t round_ = 1;
};

}  // namespace pitwall::window
