// Cache of data from sealed windows. It contains open segments and decoded columns, because a page
// of charts reads them repeatedly. The total size is bounded, and the least recently used entries
// are evicted.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"

namespace pitwall::history {

// All rows of one column in a table, either as integers or as values.
struct DecodedColumn {
  std::vector<int64_t> ints;
  std::vector<double> values;
  size_t bytes() const { return (ints.capacity() + values.capacity()) * 8 + kOverhead; }
  static constexpr size_t kOverhead = 200;  // overhead of the cache entry
};
using DecodedColumnPtr = std::shared_ptr<const DecodedColumn>;

// Thread-safe.
class SegmentCache {
 public:
  struct Key {
    uint64_t segment = 0;  // segment generation, unique within the store
    uint32_t table = 0;
    uint32_t column = 0;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.segment, key.table, key.column);
    }
  };
  // Returns the key of the open segment. Its entry holds a file descriptor.
  static Key OpenKey(uint64_t segment) { return {segment, kNoTable, 0}; }
  // Returns the key of a page of the segment's step summary.
  static Key StepsKey(uint64_t segment, uint32_t page) { return {segment, kNoTable - 1, page}; }
  // Returns the key of one of the segment's metric pages.
  static Key MetricsKey(uint64_t segment, uint32_t page) { return {segment, kNoTable - 2, page}; }

  // Returns the key of the segment's streams.
  static Key StreamsKey(uint64_t segment) { return {segment, kNoTable - 3, 0}; }
  // Returns the key of the job's series. `job` is the job's number in the store.
  static Key SeriesKey(uint64_t job) { return {job, kNoTable - 4, 0}; }

  SegmentCache(size_t most_bytes, size_t most_open)
      : most_bytes_(most_bytes), most_open_(most_open) {}
  // Returns nullptr if the key is not cached. T must be the type stored under the key.
  template <typename T>
  std::shared_ptr<const T> Find(const Key& key) {
    return std::static_pointer_cast<const T>(FindAny(key));
  }
  // Adds an entry. If the key exists, the existing entry is kept.
  void Put(const Key& key, std::shared_ptr<const void> entry, size_t bytes);
  void Erase(const Key& key);
  void Clear();
  size_t bytes() const;

 private:
  static constexpr uint32_t kNoTable = UINT32_MAX;
  struct Entry {
    Key key;
    std::shared_ptr<const void> value;
    size_t bytes = 0;
    uint64_t used = 0;  // sequence number of the last use
  };
  using Entries = std::list<Entry>;  // most recently used first

  Entries& ListOf(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lists_[key.table == kNoTable ? 1 : 0];
  }
  std::shared_ptr<const void> FindAny(const Key& key);
  void DropOldest(Entries* list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  const size_t most_open_;
  mutable Mutex mutex_;
  std::array<Entries, 2> lists_ ABSL_GUARDED_BY(mutex_);  // columns, then open segments
  absl::flat_hash_map<Key, Entries::iterator> index_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace pitwall::history
