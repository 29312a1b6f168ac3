// Number of samples of a window that are far above its mean.
#pragma once

#include <cstddef>
#include <span>

namespace pitwall::window {

// How many of the values lie strictly above mean + `deviations` standard deviations of all of them
// (of the population, the outliers included). NaNs are passed over. False, and no count: without
// any number, where mean or deviation are not finite, and for `deviations` below 0 or NaN.
//
// Both are computed around the first value, so that equal values have exactly their mean and a
// deviation of 0.
bool CountOutliers(std::span<const double> values, double deviations, double* count);

}  // namespace pitwall::window
