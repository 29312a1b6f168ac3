// Comparison of doubles that tolerates rounding errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace pitwall {

// Returns true if |a - b| / (|a| + |b|) < tolerance, like util/almost in Prometheus. NaN equals
// NaN, and an infinity equals only itself. If either value is 0 or the sum is subnormal, the
// difference must be less than tolerance * the smallest normal number.
inline bool AlmostEqual(double a, double b, double tolerance) {
  constexpr double kMinNormal = std::numeric_limits<double>::min();
  if (std::isnan(a) && std::isnan(b)) return true;
  if (a == b) return true;
  const double sum = std::fabs(a) + std::fabs(b);
  const double difference = std::fabs(a - b);
  if (a == 0 || b == 0 || sum < kMinNormal) return difference < tolerance * kMinNormal;
  return difference / std::min(sum, std::numeric_limits<double>::max()) < tolerance;
}

}  // namespace pitwall
