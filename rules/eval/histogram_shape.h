// Distance between the shapes of two classic histograms. It is the Jensen–Shannon distance (J. Lin,
// "Divergence Measures Based on the Shannon Entropy", 1991), whose root is a metric (D. Endres, J.
// Schindelin, "A New Metric for Probability Distributions", 2003).
#pragma once

#include <span>
#include <vector>

#include "rules/eval/histogram_buckets.h"

namespace pitwall::eval {

// Converts buckets (sorted by bound, not empty) to a shape with one bucket per bound and
// non-decreasing counts. Returns false if they have no shape: no bucket without an upper bound, a
// NaN count, or no observations.
bool MakeShape(std::vector<Bucket>* buckets);

// Returns the distance of two shapes, from 0 to 1, over their common bounds, or NaN if there are
// fewer than two common bounds. Symmetric.
double ShapeDistance(std::span<const Bucket> a, std::span<const Bucket> b);

}  // namespace pitwall::eval
