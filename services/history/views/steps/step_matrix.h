// Matrix of steps by ranks, built from samples for the heat map.
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

// Maximum number of steps × ranks that a query keeps in memory, at 8 bytes each.
inline constexpr size_t kMaxStepCells = size_t{32} << 20;

Status TooManyStepCells();

// Duration of each step by rank, in seconds. Unknown values are NaN. If a step was repeated, its
// later run is used. Not thread-safe.
class StepMatrix {
 public:
  // Adds the steps of a rank. Later runs must be added after earlier runs.
  Status Add(const RankSteps& of_rank);
  // Adds one step. `ranks` must be ascending; unknown values are NaN.
  Status AddStep(int64_t step, std::span<const int64_t> ranks, std::span<const double> seconds);
  // Returns whether any rank reported the step.
  bool Has(int64_t step) const { return rows_.contains(step); }
  // Returns the steps in ascending order, each with its row.
  std::vector<std::pair<int64_t, size_t>> Steps() const;
  // Returns each rank's cells by row, up to the rank's last cell.
  const std::map<int64_t, std::vector<double>>& ranks() const { return ranks_; }

 private:
  size_t RowOf(int64_t step);
  Status Grow(size_t rows, std::vector<double>* cells);

  std::vector<int64_t> steps_;  // in order of first occurrence
  absl::flat_hash_map<int64_t, size_t> rows_;
  std::map<int64_t, std::vector<double>> ranks_;
  size_t cells_ = 0;
};

}  // namespace pitwall::history
