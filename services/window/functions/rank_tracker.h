// Exact tracking of one quantile in a sliding window for all columns, in one or two cache lines per
// column. A tracker keeps only the few sorted samples around the quantile's rank. A sample that is
// added or removed below the tracked samples shifts their ranks by one; a sample among them is
// inserted or removed. If the rank moves outside the tracked samples, all samples must be read
// again. This is rare, because each sample moves the rank by at most one, and mostly back and
// forth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/model/windows/pane_grid.h"
#include "services/window/functions/order_statistics.h"

namespace pitwall::window {

// Not thread-safe. The owner knows the number and the values of each column's samples.
class RankTracker {
 public:
  explicit RankTracker(double phi) : phi_(phi) {}

  double phi() const { return phi_; }
  // Window cursor at the last read of the quantile.
  PaneIndex read_at;

  void Resize(size_t columns) { cells_.resize(columns); }
  // Starts tracking another quantile of the same columns.
  void Restart(double phi) {
    phi_ = phi;
    rank_ = Rank(phi, rank_of_);
    Clear();
  }
  void Clear() {
    for (Cell& cell : cells_) cell.size = 0;
  }
  void ClearColumn(size_t column) { cells_[column].size = 0; }

  // Adds or removes a sample. `n` is the column's number of samples after the change.
  void Insert(size_t column, int64_t key, size_t n);
  void Remove(size_t column, int64_t key);

  // Gets the quantile of n samples. Returns false if the samples must be read again with Fill.
  bool Get(size_t column, size_t n, double* value) {
    if (n != rank_of_) {
      rank_ = Rank(phi_, n);
      rank_of_ = n;
    }
    const Cell& cell = cells_[column];
    const size_t below = rank_.below - cell.base, above = rank_.above - cell.base;
    if (rank_.below < cell.base || above >= cell.size) return false;
    *value = rank_.Between(cell.keys[below], cell.keys[above]);
    return true;
  }
  // Initializes a column. `keys` contains all n >= 1 samples in any order and is reordered.
  void Fill(size_t column, std::span<int64_t> keys);

  size_t MemoryBytes() const { return cells_.capacity() * sizeof(Cell); }

 private:
  static constexpr uint32_t kKeys = 15;
  // The sorted samples with ranks base .. base + size - 1. A size of 0 means that the samples are
  // unknown.
  struct alignas(64) Cell {
    int64_t keys[kKeys];
    uint32_t base = 0;
    uint32_t size = 0;
  };

  double phi_;
  std::vector<Cell> cells_;
  size_t rank_of_ = 1;
  Rank rank_{phi_, rank_of_};  // rank among rank_of_ samples, which is the count in most columns
};

inline void RankTracker::Insert(size_t column, int64_t key, size_t n) {
  Cell& cell = cells_[column];
  if (cell.size == 0) {
    if (n == 1) cell.keys[0] = key, cell.base = 0, cell.size = 1;
    return;
  }
  if (key < cell.keys[0] && (cell.base > 0 || cell.size == kKeys)) {
    ++cell.base;
    return;
  }
  const bool at_end = cell.base + cell.size + 1 == n;
  if (key > cell.keys[cell.size - 1] && (!at_end || cell.size == kKeys)) return;
  uint32_t at = 0;
  for (uint32_t k = 0; k < cell.size; ++k) at += cell.keys[k] < key ? 1 : 0;
  if (cell.size < kKeys) {
    for (uint32_t k = cell.size; k > at; --k) cell.keys[k] = cell.keys[k - 1];
    cell.keys[at] = key;
    ++cell.size;
    return;
  }
  // One key must be dropped, from the end that is farther from the rank.
  const auto middle = static_cast<double>(cell.base) + static_cast<double>(kKeys) / 2;
  if (phi_ * static_cast<double>(n - 1) > middle) {
    for (uint32_t k = 1; k < at; ++k) cell.keys[k - 1] = cell.keys[k];
    if (at > 0) cell.keys[at - 1] = key;
    ++cell.base;
  } else {
    for (uint32_t k = kKeys - 1; k > at; --k) cell.keys[k] = cell.keys[k - 1];
    if (at < kKeys) cell.keys[at] = key;
  }
}

inline void RankTracker::Remove(size_t column, int64_t key) {
  Cell& cell = cells_[column];
  if (cell.size == 0 || key > cell.keys[cell.size - 1]) return;
  if (key < cell.keys[0] && cell.base > 0) {
    --cell.base;
    return;
  }
  uint32_t at = 0;
  for (uint32_t k = 0; k < cell.size; ++k) at += cell.keys[k] < key ? 1 : 0;
  if (cell.keys[at] != key) {  // cannot happen; reading the samples again is always correct
    cell.size = 0;
    return;
  }
  --cell.size;
  for (uint32_t k = at; k < cell.size; ++k) cell.keys[k] = cell.keys[k + 1];
}

}  // namespace pitwall::window
