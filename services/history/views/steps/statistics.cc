#include "services/history/views/steps/statistics.h"

#include <algorithm>
#include <cmath>

#include "services/history/step_times.h"
#include "services/model/value.h"

namespace pitwall::history {

double MedianOf(std::vector<double> values) {
  return values.empty() ? NormalNan() : MedianIn(&values);
}

double MedianDeviation(std::span<const double> values, double median) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::fabs(value - median));
  return MedianOf(std::move(distances));
}

double MeanOf(std::span<const double> values) {
  if (values.empty()) return NormalNan();
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  return mean;
}

double QuantileOf(std::span<const double> sorted, double q) {
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size()));
  return sorted[rank < 1 ? 0 : std::min(static_cast<size_t>(rank), sorted.size()) - 1];
}

}  // namespace pitwall::history
