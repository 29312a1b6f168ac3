// The period of outliers in a window: whether stalls come more regularly than chance makes them,
// and how far apart.
#pragma once

#include <cstdint>
#include <span>

namespace pitwall::window {

// Outliers are more than `limit` robust standard deviations (robust_score.h) from the median of the
// window. Those with no other sample between them are one event, at the first of them. The result
// is the period of these events in seconds, if they have one that chance does not make
// (period_detector.h, with n the samples of the window). Samples in order of position; NaNs are
// passed over. Cost: sorting, and O(events) at most 8 * 4 times.
bool OutlierPeriod(std::span<const int64_t> positions, std::span<const double> values, double limit,
                   double* period);

}  // namespace pitwall::window
