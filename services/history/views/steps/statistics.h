// Medians and spreads of a few numbers.
#pragma once

#include <span>
#include <vector>

namespace pitwall::history {

// The mean of the two middle ones where their count is even. NaN: of nothing.
double MedianOf(std::vector<double> values);
// Median distance from `median`.
double MedianDeviation(std::span<const double> values, double median);

// NaN: of nothing.
double MeanOf(std::span<const double> values);

// Nearest rank: the least value with at least q of all at or below it. `sorted` is not empty.
double QuantileOf(std::span<const double> sorted, double q);

}  // namespace pitwall::history
