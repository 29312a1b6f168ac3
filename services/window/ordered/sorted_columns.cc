#include "services/window/ordered/sorted_columns.h"

#include "services/window/functions/order_statistics.h"

namespace pitwall::window {

void SortedColumns::Clear() {
  for (std::vector<int64_t>& keys : columns_) keys.clear();
}

void SortedColumns::Insert(size_t column, int64_t key) {
  std::vector<int64_t>& keys = columns_[column];
  keys.insert(keys.begin() + static_cast<ptrdiff_t>(LowerBound(keys, key)), key);
}

void SortedColumns::Remove(size_t column, int64_t key) {
  std::vector<int64_t>& keys = columns_[column];
  const size_t at = LowerBound(keys, key);
  if (at < keys.size() && keys[at] == key) keys.erase(keys.begin() + static_cast<ptrdiff_t>(at));
}

void SortedColumns::Replace(size_t column, int64_t leaving, int64_t entering) {
  std::vector<int64_t>& keys = columns_[column];
  size_t from, to;  // if the leaving key is below the entering key, `to` counts it
  // For short arrays, counting avoids branches and chains of dependent loads.
  if (constexpr size_t kShort = 128; keys.size() <= kShort) {
    count_below_(keys.data(), keys.size(), leaving, entering, &from, &to);
  } else {
    from = LowerBound(keys, leaving);
    to = LowerBound(keys, entering);
  }
  if (from >= keys.size() || keys[from] != leaving) return;
  const auto begin = keys.begin();
  if (to > from) {
    --to;
    std::copy(begin + static_cast<ptrdiff_t>(from + 1), begin + static_cast<ptrdiff_t>(to + 1),
              begin + static_cast<ptrdiff_t>(from));
  } else {
    std::copy_backward(begin + static_cast<ptrdiff_t>(to), begin + static_cast<ptrdiff_t>(from),
                       begin + static_cast<ptrdiff_t>(from + 1));
  }
  keys[to] = entering;
}

size_t SortedColumns::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(std::vector<int64_t>);
  for (const std::vector<int64_t>& keys : columns_) bytes += keys.capacity() * sizeof(int64_t);
  return bytes;
}

}  // namespace pitwall::window
