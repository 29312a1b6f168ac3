// The period of outliers in a window: whether stalls come regularly, and how far apart.
#pragma once

#include <cstdint>
#include <span>

namespace pitwall::window {

// Outliers are more than `limit` robust standard deviations (robust_score.h) from the median of the
// window. Those with no other sample between them are one event, at the first of them. The result
// is the median distance of successive events, in seconds, if there are at least three and at least
// four in five of the distances differ from it by no more than the median distance of two samples,
// or a twentieth of the period. Samples in order of position; NaNs are passed over.
bool OutlierPeriod(std::span<const int64_t> positions, std::span<const double> values, double limit,
                   double* period);

}  // namespace pitwall::window
