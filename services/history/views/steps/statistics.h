// Medians and other statistics for small sets of values.
#pragma once

#include <span>
#include <vector>

namespace pitwall::history {

// Returns the median, or NaN if there are no values. For an even count, the median is the mean of
// the two middle values.
double MedianOf(std::vector<double> values);
// Returns the median absolute deviation of the values from `median`.
double MedianDeviation(std::span<const double> values, double median);

// Returns the mean, or NaN if there are no values.
double MeanOf(std::span<const double> values);

// Returns the quantile by nearest rank: the lowest value such that at least a fraction q of the
// values is at or below it. `sorted` must not be empty.
double QuantileOf(std::span<const double> sorted, double q);

}  // namespace pitwall::history
