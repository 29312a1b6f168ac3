// Matrix of steps by ranks from samples, for the heat map.
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

// Maximum number of steps × ranks of an answer in memory, 8 bytes each.
inline constexpr size_t kMaxStepCells = size_t{32} << 20;

Status TooManyStepCells();

// Seconds of each step by rank; NaN: unknown. Of a repeated step, the later run counts. Not
// thread-safe.
class StepMatrix {
 public:
  // Add later runs after earlier ones.
  Status Add(const RankSteps& of_rank);
  // Adds one step of ascending ranks; NaN: unknown.
  Status AddStep(int64_t step, std::span<const int64_t> ranks, std::span<const double> seconds);
  // Returns whether some rank reported it.
  bool Has(int64_t step) const { return rows_.contains(step); }
  // Steps, ascending, with the row of each.
  std::vector<std::pair<int64_t, size_t>> Steps() const;
  // Cells by row, up to the rank's last one.
  const std::map<int64_t, std::vector<double>>& ranks() const { return ranks_; }

 private:
  size_t RowOf(int64_t step);
  Status Grow(size_t rows, std::vector<double>* cells);

  std::vector<int64_t> steps_;  // in the order of first occurrence
  absl::flat_hash_map<int64_t, size_t> rows_;
  std::map<int64_t, std::vector<double>> ranks_;
  size_t cells_ = 0;
};

}  // namespace pitwall::history
