// Order statistics of samples as Prometheus has them: NaN before everything, linear interpolation
// between neighbors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pitwall::window {

// Integers in the order of the doubles; all NaNs are one, before everything, as PromQL sorts them.
int64_t KeyOf(double value);
double ValueOf(int64_t key);

// First index whose key is not below `key`, in sorted keys, without unpredictable branches.
size_t LowerBound(std::span<const int64_t> keys, int64_t key);

// Where a quantile lies among n >= 1 sorted samples.
struct Rank {
  Rank(double phi, size_t n);  // phi in 0..1
  size_t below, above;         // indices; above is below + 1 or the last
  double weight;               // of the second
  double Between(int64_t lower, int64_t upper) const {
    return ValueOf(lower) * (1 - weight) + ValueOf(upper) * weight;
  }
};

// phi outside 0..1: infinities, or NaN for NaN.
double QuantileOutside(double phi);

// Of at least one sample.
double QuantileOf(std::span<const double> values, double phi);
double MadOf(std::span<const double> values);
// Median of the absolute deviations from the median of sorted keys. `scratch` is used where there
// are infinities.
double MadOfSorted(std::span<const int64_t> keys, std::vector<double>* scratch);

}  // namespace pitwall::window
