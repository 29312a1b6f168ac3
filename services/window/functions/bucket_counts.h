// Classic histogram of the samples in a window.
#pragma once

#include <span>

namespace pitwall::window {

// Sets counts[i] to the number of values <= bounds[i]. The last element, after those for the
// bounds, counts all values, including NaN. NaN is in no other bucket, as in the Prometheus client
// libraries. `bounds` must be ascending.
void CountBuckets(std::span<const double> values, std::span<const double> bounds, double* counts);

}  // namespace pitwall::window
