// Distance between the shapes of two classic histograms. This is the Jensen–Shannon distance: the
// square root of the divergence (J. Lin, "Divergence Measures Based on the Shannon Entropy", 1991)
// and a metric (D. Endres, J. Schindelin, "A New Metric for Probability Distributions", 2003).
#pragma once

#include <span>
#include <vector>

#include "rules/eval/histogram_buckets.h"

namespace pitwall::eval {

// Converts buckets (sorted by bound, not empty) to a shape with one bucket per bound and
// non-decreasing counts. Returns false if the buckets have no shape because there is no +Inf
// bucket, a count is NaN, or there are no observations.
bool MakeShape(std::vector<Bucket>* buckets);

// Returns the distance between two shapes over their common bounds, from 0 to 1. Returns NaN if
// there are fewer than two common bounds. The distance is symmetric.
double ShapeDistance(std::span<const Bucket> a, std::span<const Bucket> b);

}  // namespace pitwall::eval
