// A classic histogram of the samples in a window.
#pragma once

#include <span>

namespace pitwall::window {

// counts[i]: how many values are at most bounds[i]; the last, one more than there are bounds: all
// values, NaNs too (which are in no other, as in the histograms of Prometheus' clients). `bounds`
// ascend.
void CountBuckets(std::span<const double> values, std::span<const double> bounds, double* counts);

}  // namespace pitwall::window
