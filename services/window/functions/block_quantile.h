// Quantiles of the newest blocks of samples in a window.
#pragma once

#include <cstddef>
#include <span>

namespace pitwall::window {

// Minimum number of samples per block if the rule does not set the block size. A median of fewer
// samples is not meaningful.
inline constexpr size_t kLeastBlockSamples = 5;

// Parsed arguments of block_quantile_over_time.
struct BlockDemand {
  // The arguments are blocks, φ, rank, and optionally the samples per block, in the same order as
  // in the rule.
  explicit BlockDemand(std::span<const double> arguments);
  bool valid = false;  // true if blocks, rank, and samples are integers within their limits and φ
                       // is in [0, 1]
  size_t blocks = 0, rank = 0;
  size_t size = 0;  // samples per block; 0 divides the window's samples equally among the blocks
  double phi = 0;
  // Returns how many of the window's newest samples are used; 0 means all.
  size_t newest() const { return valid ? blocks * size : 0; }
};

// Returns the rank-th smallest of the blocks' φ-quantiles. The blocks have equal numbers of
// samples, and the newest block ends with the newest sample. NaN values are skipped and do not
// count as samples. Returns false if there are too few samples to fill the blocks, the arguments
// are invalid, or a quantile would be interpolated between -Inf and +Inf.
bool BlockQuantile(std::span<const double> values, std::span<const double> arguments,
                   double* result);

}  // namespace pitwall::window
