// The columns of an ordered window that have no result because they had too many samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/binary.h"

namespace pitwall::window {

class OverflowedColumns {
 public:
  bool Has(size_t column) const { return set_[column] != 0; }
  bool Any() const { return count_ > 0; }
  // Adds a column. Returns true if the column was not in the set.
  bool Add(size_t column);
  void Resize(size_t columns) { set_.resize(columns); }
  // Clears the set and returns the removed columns as one flag per column.
  std::vector<uint8_t> Clear();
  // Reorders the columns: column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);

  void Save(BinaryWriter& out) const;
  // Marks the reader as failed if the set contains columns beyond `columns`.
  void Load(BinaryReader& in, size_t columns);

 private:
  std::vector<uint8_t> set_;  // indexed by column
  uint32_t count_ = 0;
};

}  // namespace pitwall::window
