#include "services/window/outlier_period.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "services/model/robust_score.h"
#include "services/window/order_statistics.h"

namespace pitwall::window {
namespace {

constexpr size_t kLeastEvents = 3;
constexpr double kRegularShare = 0.8;
constexpr double kTolerance = 0.05;  // of the period

double Seconds(int64_t distance) { return static_cast<double>(distance) / 1e9; }

}  // namespace

bool OutlierPeriod(std::span<const int64_t> positions, std::span<const double> values, double limit,
                   double* period) {
  if (!(limit > 0)) return false;
  std::vector<double> numbers;
  for (const double value : values) {
    if (!std::isnan(value)) numbers.push_back(value);
  }
  if (numbers.size() < 2 * kLeastEvents - 1) return false;  // events and what is between them
  const double median = QuantileOf(numbers, 0.5);
  const double mad = MadOf(numbers);
  if (!std::isfinite(median) || !std::isfinite(mad)) return false;
  std::vector<double> gaps, distances;
  int64_t event = 0, sample = 0;
  size_t events = 0, samples = 0;
  bool inside = false;  // of a run of outliers
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (samples++ > 0) distances.push_back(Seconds(positions[i] - sample));
    sample = positions[i];
    const bool outlier = std::fabs(RobustScore(values[i], median, mad)) > limit;
    if (outlier && !inside) {
      if (events++ > 0) gaps.push_back(Seconds(positions[i] - event));
      event = positions[i];
    }
    inside = outlier;
  }
  if (events < kLeastEvents) return false;
  const double middle = QuantileOf(gaps, 0.5);
  const double slack = std::max(QuantileOf(distances, 0.5), kTolerance * middle);
  const auto regular = static_cast<double>(std::count_if(
      gaps.begin(), gaps.end(), [&](double gap) { return std::fabs(gap - middle) <= slack; }));
  if (regular < kRegularShare * static_cast<double>(gaps.size())) return false;
  *period = middle;
  return true;
}

}  // namespace pitwall::window
