// Order statistics of samples as in Prometheus: NaN sorts first, and results are interpolated
// linearly between neighbors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pitwall::window {

// Maps doubles to integers that sort in the same order. As in PromQL, all NaNs map to a single key
// that sorts before all others.
int64_t KeyOf(double value);
double ValueOf(int64_t key);

// Returns the index of the first sorted key that is not below `key`. Uses no unpredictable
// branches.
size_t LowerBound(std::span<const int64_t> keys, int64_t key);

// Position of a quantile among n sorted samples (n >= 1).
struct Rank {
  Rank(double phi, size_t n);  // `phi` is in [0, 1]
  size_t below, above;         // sample indexes; `above` is below + 1 or the last index
  double weight;               // weight of the sample at `above`
  double Between(int64_t lower, int64_t upper) const {
    return ValueOf(lower) * (1 - weight) + ValueOf(upper) * weight;
  }
};

// Returns the quantile for a phi outside [0, 1]: an infinity, or NaN if phi is NaN.
double QuantileOutside(double phi);

// These functions require at least one sample.
double QuantileOf(std::span<const double> values, double phi);
double MadOf(std::span<const double> values);
// Returns the median absolute deviation from the median. `keys` must be sorted. `scratch` is used
// only if there are infinities.
double MadOfSorted(std::span<const int64_t> keys, std::vector<double>* scratch);

}  // namespace pitwall::window
