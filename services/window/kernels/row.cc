#include "services/window/kernels/row.h"

#include <algorithm>
#include <new>

#include "services/base/check.h"
#include "services/model/value.h"

namespace pitwall::window {

RowPool::~RowPool() {
  for (Row& row : identity_) row.reset();
  for (auto& blocks : free_) {
    for (Row::Block* block : blocks)
      ::operator delete (block, std::align_val_t{alignof(Row::Block)});
  }
}

size_t RowPool::CapacityFor(size_t columns) {
  return std::max<size_t>(8, (columns + columns / 16 + 7) / 8 * 8);
}

Row RowPool::New(uint32_t fields) {
  PITWALL_CHECK(fields >= 1 && fields <= kMaxFields);
  auto& blocks = free_[fields];
  if (!blocks.empty()) {
    Row::Block* block = blocks.back();
    blocks.pop_back();
    return Row(block);
  }
  const size_t bytes = sizeof(Row::Block) + fields * capacity_ * sizeof(double);
  void* memory = ::operator new (bytes, std::align_val_t{alignof(Row::Block)});
  auto* block = new (memory) Row::Block{this, 0, fields};
  bytes_ += bytes;
  Fill(block);
  return Row(block);
}

Row RowPool::NewIdentity(uint32_t fields) {
  Row row = New(fields);
  Fill(row.block_);
  return row;
}

const Row& RowPool::Identity(uint32_t fields) {
  Row& row = identity_[fields];
  if (!row) row = NewIdentity(fields);
  return row;
}

void RowPool::Fill(Row::Block* block) const {
  auto* cells = reinterpret_cast<double*>(block + 1);
  std::fill_n(cells, block->fields * capacity_, block->fields <= 2 ? MissingValue() : 0.0);
}

}  // namespace pitwall::window
