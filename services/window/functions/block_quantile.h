// The quantiles of the newest blocks of a window's samples.
#pragma once

#include <cstddef>
#include <span>

namespace pitwall::window {

// Samples of a block that no argument gives: a median of fewer says little.
inline constexpr size_t kLeastBlockSamples = 5;

// What block_quantile_over_time is asked for.
struct BlockDemand {
  // blocks, φ, rank[, samples of a block], as the rule gives them.
  explicit BlockDemand(std::span<const double> arguments);
  bool valid = false;  // whole numbers within their limits, φ in 0 to 1
  size_t blocks = 0, rank = 0;
  size_t size = 0;  // samples of a block; 0: as many as the window has for each
  double phi = 0;
  // How many of the newest numbers of a window it looks at; 0: at all of them.
  size_t newest() const { return valid ? blocks * size : 0; }
};

// The rank-th smallest of the φ-quantiles of the blocks: equal numbers of samples, the newest block
// ending with the newest sample. NaNs are passed over, and no samples. False without a result: too
// few samples for full blocks, arguments that are not valid, a quantile between infinities.
bool BlockQuantile(std::span<const double> values, std::span<const double> arguments,
                   double* result);

}  // namespace pitwall::window
