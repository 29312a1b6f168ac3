// Number of samples in a window that are far above its mean.
#pragma once

#include <cstddef>
#include <span>

namespace pitwall::window {

// Counts the values strictly above mean + `deviations` population standard deviations. The mean and
// deviation include the outliers. NaN values are skipped. Returns false if there are no numbers,
// the mean or deviation is not finite, or `deviations` is negative or NaN.
//
// The mean and deviation are computed relative to the first value. If all values are equal, the
// mean is therefore exact and the deviation is 0.
bool CountOutliers(std::span<const double> values, double deviations, double* count);

}  // namespace pitwall::window
