#include "services/window/panes/unpacked_blocks.h"

#include <algorithm>

namespace pitwall::window {

const PackedBlock::Panes* UnpackedBlocks::Find(int64_t number) {
  for (const auto& block : blocks_) {
    if (block->number != number) continue;
    block->read = round_;
    return &block->panes;
  }
  return nullptr;
}

PackedBlock::Panes& UnpackedBlocks::Add(int64_t number) {
  if (blocks_.size() >= most_) {
    // If several blocks were last read in the same round, min_element picks the oldest.
    blocks_.erase(std::min_element(blocks_.begin(), blocks_.end(),
                                   [](const auto& a, const auto& b) { return a->read < b->read; }));
  }
  blocks_.push_back(std::make_unique<Block>());
  blocks_.back()->number = number;
  blocks_.back()->read = round_;
  return blocks_.back()->panes;
}

void UnpackedBlocks::Forget(size_t readers) {
  most_ = readers + 2;
  std::erase_if(blocks_, [this](const auto& block) { return block->read < round_; });
  ++round_;
}

void UnpackedBlocks::Remove(int64_t number) {
  std::erase_if(blocks_, [number](const auto& block) { return block->number == number; });
}

}  // namespace pitwall::window
