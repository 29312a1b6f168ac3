// Detector for periodic events, such as stalls, that are more regular than chance would explain. It
// finds the grid that contains most of the events. Works in steps and in seconds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pitwall::window {

inline constexpr size_t kLeastEvents = 3;

// Events in order, in seconds (or steps on the step clock) relative to some origin.
struct Events {
  std::vector<double> at;
  double samples = 0;   // number of samples at which an event could have occurred
  double distance = 0;  // median distance between samples
};

// Finds the period of a grid. At least four fifths of the events must be on the grid, and at least
// 70% of the grid points must have an event. The probability that chance explains the grid must be
// at most 1 in 1000:
//
//   P(Binomial(m - 2, q) >= h - 2) * n / 4 <= 0.001
//
// with m events, h of them on the grid, n samples, and q the fraction of the period that is near a
// grid point. Phase and period are fitted to the events (hence - 2), and n / 4 periods are
// possible. If the period is at least eight samples, an event is on the grid if it is within one
// sample of a point (5/4 samples, to allow for fitting errors). For shorter periods, the event must
// be exactly on a point. The cost is at most 8 * 4 passes of O(events).
bool PeriodOf(const Events& events, double* period);

// Finds the period of events whose times are `values`, in any order. Uses only the last 100 events,
// because no more are needed. Non-finite times are skipped. `resolution` is the distance between
// samples, in the unit of the times. n is the number of samples that fit between the first and the
// last event.
bool EventPeriod(std::span<const double> values, double resolution, double* period);

}  // namespace pitwall::window
