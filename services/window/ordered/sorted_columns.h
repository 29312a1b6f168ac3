// The samples of each column of an ordered window as sorted keys (order_statistics.h). Replacing a
// sample moves only the keys between the old and the new sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/window/kernels/family.h"

namespace pitwall::window {

// Not thread-safe.
class SortedColumns {
 public:
  SortedColumns() : count_below_(CountBelow()) {}

  std::span<const int64_t> keys(size_t column) const { return columns_[column]; }
  void Resize(size_t columns) { columns_.resize(columns); }
  void Clear();
  void ClearColumn(size_t column) { columns_[column] = {}; }

  void Insert(size_t column, int64_t key);
  // Removes a key. Does nothing if the column does not contain the key; the same applies to
  // Replace.
  void Remove(size_t column, int64_t key);
  void Replace(size_t column, int64_t leaving, int64_t entering);
  // Adds a key at the end. Call Sort before any other function.
  void Append(size_t column, int64_t key) { columns_[column].push_back(key); }
  void Sort(size_t column) { std::sort(columns_[column].begin(), columns_[column].end()); }

  // Prefetches the keys of a column that will be used soon. The arrays of many columns do not fit
  // into the caches near the core, and a search would wait for one cache miss after another.
  void Prefetch(size_t column) const {
    constexpr size_t kLine = 64 / sizeof(int64_t), kMost = 16 * kLine;
    const std::vector<int64_t>& keys = columns_[column];
    const size_t n = std::min(keys.size(), kMost);
    for (size_t k = 0; k < n; k += kLine) __builtin_prefetch(keys.data() + k);
  }
  size_t MemoryBytes() const;

 private:
  CountKernel count_below_;
  std::vector<std::vector<int64_t>> columns_;
};

}  // namespace pitwall::window
