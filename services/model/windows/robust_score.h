// Distance of a value from a population in robust standard deviations: its distance from the
// median, divided by the scaled median absolute deviation (MAD). 1.4826 · MAD estimates the
// standard deviation of a normal distribution (B. Iglewicz, D. Hoaglin, "How to Detect and Handle
// Outliers", 1993, section 3.3).
//
// The scale is at least 1% of the median's magnitude. Without this minimum, an irrelevant
// difference would be many deviations in a population with little variation, such as the step times
// of ranks in lockstep.
#pragma once

#include <algorithm>
#include <cmath>

namespace pitwall {

inline double RobustScale(double median, double mad) {
  return std::max(1.4826 * mad, 0.01 * std::fabs(median));
}

// Returns the score. It is exactly 0 for the median itself and infinite for other values if the
// scale is 0. It is NaN if the value, the median, or the MAD is NaN.
inline double RobustScore(double value, double median, double mad) {
  const double distance = value - median;
  const double scale = RobustScale(median, mad);
  if (distance == 0 && scale == 0) return 0;
  return distance / scale;
}

}  // namespace pitwall
