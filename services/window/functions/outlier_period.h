// Period of outliers in a window: the interval between stalls that are more regular than chance
// would explain.
#pragma once

#include <cstdint>
#include <span>

namespace pitwall::window {

// Outliers are more than `limit` robust standard deviations (robust_score.h) from the window's
// median. Adjacent outliers form one event at the position of the first outlier. The result is the
// period of these events in seconds, if it is statistically significant (period_detector.h, where n
// is the window's number of samples). Samples must be in order of position; NaN values are skipped.
// The cost is a sort plus at most 8 * 4 passes of O(events).
bool OutlierPeriod(std::span<const int64_t> positions, std::span<const double> values, double limit,
                   double* period);

}  // namespace pitwall::window
