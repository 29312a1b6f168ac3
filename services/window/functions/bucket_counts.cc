#include "services/window/functions/bucket_counts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pitwall::window {

void CountBuckets(std::span<const double> values, std::span<const double> bounds, double* counts) {
  std::fill_n(counts, bounds.size() + 1, 0.0);
  for (const double value : values) {
    const auto bucket =
        std::isnan(value) ? bounds.end() : std::lower_bound(bounds.begin(), bounds.end(), value);
    counts[bucket - bounds.begin()] += 1;
  }
  for (size_t i = 0; i < bounds.size(); ++i) counts[i + 1] += counts[i];
}

}  // namespace pitwall::window
