// Rows of state: a structure of arrays over the series of one selector.
//
// A row consists of `fields` arrays of `capacity` 8-byte cells, field after field. Cell i of each
// field belongs to column i. Rows are shared by reference count. A shared row is never modified,
// except in the open pane. Where a partial is expected, a null row means "no samples".
//
// Cells beyond the columns in use always contain the identity of the row's kind (no sample), so
// adding a column requires no work. The number of fields determines the kind: rows of up to two
// fields use MissingValue(), rows of more fields use zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pitwall::window {

class RowPool;

// Handle to a row. Not thread-safe. A handle must not outlive the row's pool.
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
  // Returns an ID that is equal for all handles to one row. All null handles have the same ID.
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

// Allocator for rows with the same capacity. Freed rows are kept for the next row of the same size,
// because the number of rows in use varies as windows advance. The window lengths bound the number
// of freed rows.
class RowPool {
 public:
  static constexpr uint32_t kMaxFields = 8;

  explicit RowPool(size_t capacity) : capacity_(capacity), free_(kMaxFields + 1) {}
  ~RowPool();
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;

  // Returns a capacity for `columns` columns plus some spare columns.
  static size_t CapacityFor(size_t columns);
  size_t capacity() const { return capacity_; }
  // Creates a row. Cells of columns in use are uninitialized; the cells beyond them contain the
  // identity.
  Row New(uint32_t fields);
  // Creates a row of identity cells. Requires 1 <= fields <= kMaxFields.
  Row NewIdentity(uint32_t fields);
  // Returns a shared row of identity cells, so callers need no null check. The row must not be
  // modified.
  const Row& Identity(uint32_t fields);
  size_t MemoryBytes() const { return bytes_; }

 private:
  friend class Row;
  void Take(Row::Block* block) { free_[block->fields].push_back(block); }
  void Fill(Row::Block* block) const;

  size_t capacity_;
  size_t bytes_ = 0;
  std::vector<std::vector<Row::Block*>> free_;  // indexed by number of fields
  Row identity_[kMaxFields + 1];
};

inline void Row::Release() {
  if (block_ == nullptr) return;
  if (--block_->references == 0) block_->pool->Take(block_);
  block_ = nullptr;
}

}  // namespace pitwall::window
