#include "services/window/functions/outlier_count.h"

#include <algorithm>
#include <cmath>

namespace pitwall::window {

bool CountOutliers(std::span<const double> values, double deviations, double* count) {
  if (!(deviations >= 0)) return false;
  const auto first = std::find_if(values.begin(), values.end(), [](double v) { return v == v; });
  if (first == values.end()) return false;
  const double origin = *first;
  double n = 0, sum = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value - origin;
    n += 1;
  }
  const double mean = sum / n;  // relative to the origin
  double squares = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    const double distance = value - origin - mean;
    squares += distance * distance;
  }
  const double limit = mean + deviations * std::sqrt(squares / n);
  if (!std::isfinite(limit)) return false;
  *count = static_cast<double>(std::count_if(values.begin(), values.end(),
                                             [&](double value) { return value - origin > limit; }));
  return true;
}

}  // namespace pitwall::window
