// Classic histogram of the samples in a window.
#pragma once

#include <span>

namespace pitwall::window {

// Sets counts[i] to the number of values <= bounds[i], and counts[bounds.size()] to the number of
// all values, including NaN. As in the Prometheus client libraries, no other bucket counts NaN.
// `bounds` must be ascending.
void CountBuckets(std::span<const double> values, std::span<const double> bounds, double* counts);

}  // namespace pitwall::window
