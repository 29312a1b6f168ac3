// Medians and spreads of a few numbers.
#pragma once

#include <span>
#include <vector>

namespace pitwall::history {

// Mean of the two middle values if their number is even. NaN: no values.
double MedianOf(std::vector<double> values);
// Median distance from `median`.
double MedianDeviation(std::span<const double> values, double median);

// NaN: no values.
double MeanOf(std::span<const double> values);

// Nearest rank: the lowest value such that at least a fraction q is at or below it. `sorted` must
// not be empty.
double QuantileOf(std::span<const double> sorted, double q);

}  // namespace pitwall::history
