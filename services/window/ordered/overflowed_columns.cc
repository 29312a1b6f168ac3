#include "services/window/ordered/overflowed_columns.h"

#include <algorithm>
#include <utility>

namespace pitwall::window {

bool OverflowedColumns::Add(size_t column) {
  if (set_[column]) return false;
  set_[column] = 1;
  ++count_;
  return true;
}

std::vector<uint8_t> OverflowedColumns::Clear() {
  count_ = 0;
  return std::exchange(set_, std::vector<uint8_t>(set_.size(), 0));
}

void OverflowedColumns::Remap(const std::vector<uint32_t>& keep) {
  std::vector<uint8_t> set(keep.size(), 0);
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < set_.size()) set[i] = set_[keep[i]];
  }
  set_ = std::move(set);
  count_ = static_cast<uint32_t>(std::count(set_.begin(), set_.end(), 1));
}

void OverflowedColumns::Save(BinaryWriter& out) const {
  std::vector<uint32_t> columns;
  for (size_t i = 0; i < set_.size(); ++i) {
    if (set_[i]) columns.push_back(static_cast<uint32_t>(i));
  }
  out.U32s(columns);
}

void OverflowedColumns::Load(BinaryReader& in, size_t columns) {
  set_.assign(columns, 0);
  count_ = 0;
  for (const uint32_t column : in.U32s()) {
    if (column >= columns || !Add(column)) {
      in.Fail();
      return;
    }
  }
}

}  // namespace pitwall::window
