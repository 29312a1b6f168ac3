// Steps by ranks out of samples, for the heat map.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/history/step_times.h"

namespace pitwall::history {

// Steps × ranks that one answer holds in memory, 8 bytes each.
inline constexpr size_t kMostStepCells = size_t{32} << 20;

Status TooManyStepCells();

// Seconds of each step by rank; NaN: not told. Of a step that was run again the later run counts.
// Not thread-safe.
class StepMatrix {
 public:
  // Later runs after earlier ones.
  Status Add(const RankSteps& of_rank);
  // One step of ranks, which ascend; NaN: not told.
  Status AddStep(int64_t step, std::span<const int64_t> ranks, std::span<const double> seconds);
  // Some rank has told it.
  bool Has(int64_t step) const { return rows_.contains(step); }
  // Ascending, and the row of each.
  std::vector<std::pair<int64_t, size_t>> Steps() const;
  // Cells by row, as far as the rank has any.
  const std::map<int64_t, std::vector<double>>& ranks() const { return ranks_; }

 private:
  size_t RowOf(int64_t step);
  Status Grow(size_t rows, std::vector<double>* cells);

  std::vector<int64_t> steps_;  // in the order in which they were met
  absl::flat_hash_map<int64_t, size_t> rows_;
  std::map<int64_t, std::vector<double>> ranks_;
  size_t cells_ = 0;
};

}  // namespace pitwall::history
