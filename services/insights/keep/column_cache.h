// Columns of sealed windows that were read a while ago, decoded: a page of a chart asks for the
// same ones again and again. Bounded by bytes; what was used longest ago goes first.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"

namespace pitwall::insights {

// All rows of one column of one table: integers or values.
struct DecodedColumn {
  std::vector<int64_t> ints;
  std::vector<double> values;
  size_t bytes() const { return (ints.capacity() + values.capacity()) * 8 + kOverhead; }
  static constexpr size_t kOverhead = 200;  // of the entry that holds it
};
using DecodedColumnPtr = std::shared_ptr<const DecodedColumn>;

// Thread-safe.
class ColumnCache {
 public:
  struct Key {
    uint64_t segment = 0;  // its generation, which no other segment of the store has
    uint32_t table = 0;
    uint32_t column = 0;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.segment, key.table, key.column);
    }
  };

  explicit ColumnCache(size_t most_bytes) : most_bytes_(most_bytes) {}
  // Null: not there.
  DecodedColumnPtr Find(const Key& key);
  void Put(const Key& key, DecodedColumnPtr column);
  void Clear();
  size_t bytes() const;

 private:
  using Entry = std::pair<Key, DecodedColumnPtr>;

  const size_t most_bytes_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // used last first
  absl::flat_hash_map<Key, std::list<Entry>::iterator> index_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace pitwall::insights
