// Trends of the samples in a window that single outliers do not bend. Samples in order of position,
// no two at one; NaNs are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pitwall::window {

// Of more samples than this the slope looks at so many, evenly thinned, the first and the last
// among them: 256 have 32,640 pairs.
inline constexpr size_t kMaxSlopeSamples = 256;

// The Theil–Sen estimator, per second (per step on the step clock): the median of the slopes
// between all pairs of samples (H. Theil, "A Rank-Invariant Method of Linear and Polynomial
// Regression Analysis", 1950; P. Sen, "Estimates of the Regression Coefficient Based on Kendall's
// Tau", 1968). Of an even number of slopes it is the mean of the middle two. Pairs of equal
// infinities have no slope. False, and no slope, without any pair.
bool TheilSenSlope(std::span<const int64_t> positions, std::span<const double> values,
                   double* slope);

// Kendall's tau-a of value against time, -1..1: the pairs of samples that rise less those that
// fall, as a share of all pairs (M. Kendall, "A New Measure of Rank Correlation", 1938). Pairs of
// equal values do neither, and count among all. O(n log n). False, and no result, for fewer than
// two numbers.
bool KendallTau(std::span<const double> values, double* tau);

}  // namespace pitwall::window
