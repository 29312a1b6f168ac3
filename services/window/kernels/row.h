// Rows of state: structure of arrays over the series of one selector.
//
// A row has `fields` arrays of `capacity` 8-byte cells, field after field; cell i of each belongs
// to column i. Rows are shared by reference count and never written once they are shared, except
// the open pane's. A null row stands for "no samples at all" wherever a partial is expected.
//
// Cells at or beyond the number of columns in use always hold the identity of the row's kind (no
// sample), so a column that joins needs no work. The kind is known by the number of fields: up to
// two, MissingValue(); more, zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pitwall::window {

class RowPool;

// A handle. Not thread-safe; dies before its pool.
class Row {
 public:
  Row() = default;
  Row(const Row& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->references;
  }
  Row(Row&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Row& operator=(const Row& other) {
    Row copy(other);
    std::swap(block_, copy.block_);
    return *this;
  }
  Row& operator=(Row&& other) noexcept {
    if (this != &other) {
      Release();
      block_ = std::exchange(other.block_, nullptr);
    }
    return *this;
  }
  ~Row() { Release(); }

  explicit operator bool() const { return block_ != nullptr; }
  void reset() { Release(); }
  double* cells() { return reinterpret_cast<double*>(block_ + 1); }
  const double* cells() const { return reinterpret_cast<const double*>(block_ + 1); }
  uint32_t fields() const { return block_->fields; }
  // Equal for handles of one row, and for null ones.
  const void* id() const { return block_; }

 private:
  friend class RowPool;
  struct alignas(32) Block {
    RowPool* pool = nullptr;
    uint32_t references = 0;
    uint32_t fields = 0;
  };
  explicit Row(Block* block) : block_(block) { block_->references = 1; }
  void Release();

  Block* block_ = nullptr;
};

// Where the rows of one capacity come from and go back to. Keeps what was freed for the next row of
// that size: the number of rows in use swings with the flips of the windows, and is bounded by
// their lengths.
class RowPool {
 public:
  static constexpr uint32_t kMaxFields = 8;

  explicit RowPool(size_t capacity) : capacity_(capacity), free_(kMaxFields + 1) {}
  ~RowPool();
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;

  // Room for `columns` and some that join later.
  static size_t CapacityFor(size_t columns);
  size_t capacity() const { return capacity_; }
  // Cells hold anything within the columns in use, the identity beyond them.
  Row New(uint32_t fields);
  // All cells the identity. 1 <= fields <= kMaxFields.
  Row NewIdentity(uint32_t fields);
  // A shared row of identity cells, to read where a null row would need a branch. Never write to
  // it.
  const Row& Identity(uint32_t fields);
  size_t MemoryBytes() const { return bytes_; }

 private:
  friend class Row;
  void Take(Row::Block* block) { free_[block->fields].push_back(block); }
  void Fill(Row::Block* block) const;

  size_t capacity_;
  size_t bytes_ = 0;
  std::vector<std::vector<Row::Block*>> free_;  // by number of fields
  Row identity_[kMaxFields + 1];
};

inline void Row::Release() {
  if (block_ == nullptr) return;
  if (--block_->references == 0) block_->pool->Take(block_);
  block_ = nullptr;
}

}  // namespace pitwall::window
