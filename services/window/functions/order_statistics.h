// Order statistics of samples as in Prometheus: NaN sorts first, and results are interpolated
// linearly between neighbors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pitwall::window {

// Maps doubles to integers in the same order. All NaNs map to one key before all others, as in
// PromQL.
int64_t KeyOf(double value);
double ValueOf(int64_t key);

// Returns the index of the first sorted key that is not below `key`. Avoids unpredictable branches.
size_t LowerBound(std::span<const int64_t> keys, int64_t key);

// Position of a quantile among n >= 1 sorted samples.
struct Rank {
  Rank(double phi, size_t n);  // `phi` is in [0, 1]
  size_t below, above;         // indexes; `above` is below + 1 or the last index
  double weight;               // weight of the sample at `above`
  double Between(int64_t lower, int64_t upper) const {
    return ValueOf(lower) * (1 - weight) + ValueOf(upper) * weight;
  }
};

// Returns the quantile for phi outside [0, 1]: an infinity, or NaN for NaN.
double QuantileOutside(double phi);

// Require at least one sample.
double QuantileOf(std::span<const double> values, double phi);
double MadOf(std::span<const double> values);
// Returns the median absolute deviation from the median of sorted keys. `scratch` is used only if
// there are infinities.
double MadOfSorted(std::span<const int64_t> keys, std::vector<double>* scratch);

}  // namespace pitwall::window
