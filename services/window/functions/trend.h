// Outlier-robust trend estimates for the samples in a window. Samples must be sorted by position,
// with at most one sample per position. NaN values are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pitwall::window {

// Maximum number of samples used for the slope. If there are more, this many evenly spaced samples
// are used, including the first and the last. 256 samples have 32,640 pairs.
inline constexpr size_t kMaxSlopeSamples = 256;

// Computes the Theil–Sen estimator per second (or per step on the step clock): the median of the
// slopes between all pairs of samples (H. Theil, "A Rank-Invariant Method of Linear and Polynomial
// Regression Analysis", 1950; P. Sen, "Estimates of the Regression Coefficient Based on Kendall's
// Tau", 1968). For an even number of slopes, the result is the mean of the middle two. A pair of
// equal infinities has no slope. Returns false if no pair has a slope.
bool TheilSenSlope(std::span<const int64_t> positions, std::span<const double> values,
                   double* slope);

// Computes Kendall's tau-a of value against time, in [-1, 1]: the number of rising pairs minus the
// number of falling pairs, divided by the number of all pairs (M. Kendall, "A New Measure of Rank
// Correlation", 1938). Pairs of equal values neither rise nor fall but count as pairs. O(n log n).
// Returns false for fewer than two numbers.
bool KendallTau(std::span<const double> values, double* tau);

}  // namespace pitwall::window
