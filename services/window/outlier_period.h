// The period of outliers in a window: whether stalls come more regularly than chance makes them,
// and how far apart.
#pragma once

#include <cstdint>
#include <span>

namespace pitwall::window {

// Outliers are more than `limit` robust standard deviations (robust_score.h) from the median of the
// window. Those with no other sample between them are one event, at the first of them. The result
// is the distance of a grid, in seconds, that at least four in five of the events lie on, of whose
// points at least 70 % have an event, and that chance explains at no more than 1 in 1000:
//
//   P(Binomial(m - 2, q) >= h - 2) * n / 4 <= 0.001
//
// with m events, h of them on the grid, n samples, and q the part of the grid's period that is near
// a point of it. Phase and period are fitted to the events (- 2), and n / 4 periods could have
// been. An event is on the grid within one sample (5/4, for the fit) if a period has at least
// eight, else exactly. Samples in order of position; NaNs are passed over. Cost: sorting, and
// O(events) at most 8 * 4 times.
bool OutlierPeriod(std::span<const int64_t> positions, std::span<const double> values, double limit,
                   double* period);

}  // namespace pitwall::window
