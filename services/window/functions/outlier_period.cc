#include "services/window/functions/outlier_period.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "services/model/windows/robust_score.h"
#include "services/window/functions/order_statistics.h"
#include "services/window/functions/period_detector.h"

namespace pitwall::window {
namespace {

double Seconds(int64_t distance) { return static_cast<double>(distance) / 1e9; }

bool EventsOf(std::span<const int64_t> positions, std::span<const double> values, double limit,
              Events* events) {
  std::vector<double> numbers;
  for (const double value : values) {
    if (!std::isnan(value)) numbers.push_back(value);
  }
  // Each pair of neighboring events needs at least one sample between them.
  if (numbers.size() < 2 * kLeastEvents - 1) return false;
  const double median = QuantileOf(numbers, 0.5);
  const double mad = MadOf(numbers);
  if (!std::isfinite(median) || !std::isfinite(mad)) return false;
  std::vector<double> distances;
  int64_t first = 0, sample = 0;
  bool inside = false;  // whether the previous sample was an outlier
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (events->samples == 0) {
      first = positions[i];
    } else {
      distances.push_back(Seconds(positions[i] - sample));
    }
    ++events->samples;
    sample = positions[i];
    const bool outlier = std::fabs(RobustScore(values[i], median, mad)) > limit;
    if (outlier && !inside) events->at.push_back(Seconds(positions[i] - first));
    inside = outlier;
  }
  if (events->at.size() < kLeastEvents) return false;
  events->distance = QuantileOf(distances, 0.5);
  return events->distance > 0;
}

}  // namespace

bool OutlierPeriod(std::span<const int64_t> positions, std::span<const double> values, double limit,
                   double* period) {
  if (!(limit > 0)) return false;
  Events events;
  if (!EventsOf(positions, values, limit, &events)) return false;
  return PeriodOf(events, period);
}

}  // namespace pitwall::window
