// Period of events that are more regular than by chance: the grid of one
// period that most of them lie on. Used of stalls, in steps and in seconds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pitwall::window {

inline constexpr size_t kLeastEvents = 3;

// Events in order, in seconds (on the step clock: steps) after some beginning.
struct Events {
  std::vector<double> at;
  double samples = 0;   // at which there could have been one
  double distance = 0;  // of two samples, median
};

// The distance of a grid that at least four in five of the events lie on, of whose points at least
// 70 % have an event, and that chance explains at no more than 1 in 1000:
//
//   P(Binomial(m - 2, q) >= h - 2) * n / 4 <= 0.001
//
// with m events, h of them on the grid, n samples, and q the part of the grid's period that is near
// a point of it. Phase and period are fitted to the events (- 2), and n / 4 periods could have
// been. An event is on the grid within one sample (5/4, for the fit) if a period has at least
// eight, else exactly. Cost: O(events) at most 8 * 4 times.
bool PeriodOf(const Events& events, double* period);

// The same of events whose times are `values`, in any order: of the last 100 of them, as no more
// are needed. Times that are not finite are passed over. `resolution`: the distance of two samples,
// in the unit of the times. n is what fits between the first and the last event.
bool EventPeriod(std::span<const double> values, double resolution, double* period);

}  // namespace pitwall::window
