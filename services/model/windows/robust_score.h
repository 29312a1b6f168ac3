// Distance of a value from a population, in robust standard deviations: from the median, measured
// by the median absolute deviation (MAD). 1.4826 · MAD estimates the standard deviation of a normal
// distribution (B. Iglewicz, D. Hoaglin, "How to Detect and Handle Outliers", 1993, section 3.3).
//
// The scale is at least 1 % of the median's size: in a population that hardly varies, such as the
// step times of ranks in lock-step, a difference that nobody cares about would be many deviations.
#pragma once

#include <algorithm>
#include <cmath>

namespace pitwall {

inline double RobustScale(double median, double mad) {
  return std::max(1.4826 * mad, 0.01 * std::fabs(median));
}

// Exactly 0 for the median itself; infinite where anything else has a scale of 0. NaN for NaN, and
// where median or MAD are no numbers.
inline double RobustScore(double value, double median, double mad) {
  const double distance = value - median;
  const double scale = RobustScale(median, mad);
  if (distance == 0 && scale == 0) return 0;
  return distance / scale;
}

}  // namespace pitwall
