// Moves the rows of a track to other columns and into another pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {

// Column i of a mapped row is column keep[i] of the original row, or has no sample if keep[i] >=
// columns. All handles to a row become handles to the same mapped row. The pools and `keep` must
// outlive the mapper.
class RowMapper {
 public:
  RowMapper(const std::vector<uint32_t>& keep, size_t columns, const RowPool& from, RowPool& to);

  size_t columns() const { return keep_.size(); }
  // Returns the mapped row, or null for a null row.
  Row operator()(const Row& row);
  void MapPane(Pane& pane);
  // Replaces values[i] with values[keep[i]], or with zero for a new column. Afterward, `values` has
  // columns() elements.
  template <typename Value>
  void MapValues(std::vector<Value>& values) const {
    std::vector<Value> mapped(keep_.size(), Value());
    for (size_t i = 0; i < keep_.size(); ++i) {
      if (keep_[i] < target_.size() && keep_[i] < values.size()) mapped[i] = values[keep_[i]];
    }
    values = std::move(mapped);
  }

 private:
  Row Copy(const Row& row) const;

  const std::vector<uint32_t>& keep_;
  std::vector<uint32_t> target_;  // by old column: new column, or UINT32_MAX if removed
  const RowPool& from_;
  RowPool& to_;
  absl::flat_hash_map<const void*, Row> mapped_;
};

}  // namespace pitwall::window
