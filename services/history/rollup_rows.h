// Zero-copy view of one series' rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "services/history/rollup.h"

namespace pitwall::history {

// Rows of many series, stored column by column as in metric pages.
struct RollupColumns {
  static constexpr size_t kValues = 4;

  int64_t tier_ns = 0;
  std::vector<int64_t> starts;  // in tier lengths since 1970
  std::vector<int64_t> counts;
  const char* values = nullptr;  // min, max, last, and sum of each row; unaligned, not owned
};

// Read-only view of rows. The view does not own the rows. It decodes only the requested fields, on
// access.
class RollupRows {
 public:
  RollupRows() = default;
  RollupRows(std::span<const RollupRow> rows)  // NOLINT(google-explicit-constructor): a view of it
      : rows_(rows.data()), size_(rows.size()) {}
  // Creates a view of the rows [from, to).
  RollupRows(const RollupColumns* columns, size_t from, size_t to)
      : columns_(columns), first_(from), size_(to - from) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t start_ns(size_t i) const {
    if (columns_ == nullptr) return rows_[first_ + i].start_ns;
    // The arithmetic is unsigned, because a damaged file may contain any value.
    return static_cast<int64_t>(static_cast<uint64_t>(columns_->starts[first_ + i]) *
                                static_cast<uint64_t>(columns_->tier_ns));
  }
  RollupRow operator[](size_t i) const {
    if (columns_ == nullptr) return rows_[first_ + i];
    double of_row[RollupColumns::kValues];
    std::memcpy(of_row, columns_->values + (first_ + i) * sizeof(of_row), sizeof(of_row));
    return {start_ns(i), of_row[0], of_row[1],
            of_row[3],   of_row[2], static_cast<uint32_t>(columns_->counts[first_ + i])};
  }
  RollupRows Sub(size_t from, size_t to) const {
    return RollupRows(rows_, columns_, first_ + from, to - from);
  }
  void AppendTo(std::vector<RollupRow>* out) const {
    for (size_t i = 0; i < size_; ++i) out->push_back((*this)[i]);
  }

 private:
  RollupRows(const RollupRow* rows, const RollupColumns* columns, size_t first, size_t size)
      : rows_(rows), columns_(columns), first_(first), size_(size) {}

  const RollupRow* rows_ = nullptr;
  const RollupColumns* columns_ = nullptr;  // null if the rows are in rows_
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace pitwall::history
