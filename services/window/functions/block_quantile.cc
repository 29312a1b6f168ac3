#include "services/window/functions/block_quantile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "services/model/windows/window_limits.h"
#include "services/window/functions/order_statistics.h"

namespace pitwall::window {
namespace {

constexpr size_t kMaxBlocks = 64;

// Returns the value if it is an integer from 1 to `most`, otherwise 0.
size_t WholeUpTo(double value, size_t most) {
  if (!(value >= 1 && value <= static_cast<double>(most)) || value != std::floor(value)) return 0;
  return static_cast<size_t>(value);
}

// Computes quantile_over_time, but returns the exact sample if the quantile falls on one, even next
// to an infinity.
double QuantileOfBlock(std::span<double> block, double phi) {
  const Rank rank(phi, block.size());
  const auto below = block.begin() + static_cast<ptrdiff_t>(rank.below);
  std::nth_element(block.begin(), below, block.end());
  if (rank.weight == 0) return *below;
  return *below * (1 - rank.weight) + *std::min_element(below + 1, block.end()) * rank.weight;
}

}  // namespace

BlockDemand::BlockDemand(std::span<const double> arguments) {
  if (arguments.size() < 3) return;
  blocks = WholeUpTo(arguments[0], kMaxBlocks);
  phi = arguments[1];
  rank = WholeUpTo(arguments[2], blocks);
  const bool given = arguments.size() > 3;
  if (given) size = WholeUpTo(arguments[3], static_cast<size_t>(kMaxKeptSamples));
  valid = blocks > 0 && rank > 0 && phi >= 0 && phi <= 1 && (!given || size > 0);
}

bool BlockQuantile(std::span<const double> values, std::span<const double> arguments,
                   double* result) {
  BlockDemand demand(arguments);
  if (!demand.valid) return false;
  std::vector<double> numbers;
  numbers.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(numbers),
               [](double value) { return !std::isnan(value); });
  if (demand.size == 0) {
    demand.size = numbers.size() / demand.blocks;
    if (demand.size < kLeastBlockSamples) return false;
  }
  if (demand.newest() > numbers.size()) return false;
  std::array<double, kMaxBlocks> quantiles{};
  double* block = numbers.data() + (numbers.size() - demand.newest());
  for (size_t k = 0; k < demand.blocks; ++k, block += demand.size) {
    quantiles[k] = QuantileOfBlock({block, demand.size}, demand.phi);
    if (std::isnan(quantiles[k])) return false;
  }
  const auto wanted = quantiles.begin() + static_cast<ptrdiff_t>(demand.rank - 1);
  std::nth_element(quantiles.begin(), wanted,
                   quantiles.begin() + static_cast<ptrdiff_t>(demand.blocks));
  *result = *wanted;
  return true;
}

}  // namespace pitwall::window
