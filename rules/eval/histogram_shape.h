// Distance between the shapes of two classic histograms: the Jensen–Shannon distance (J. Lin,
// "Divergence Measures Based on the Shannon Entropy", 1991; its root is a metric: D. Endres, J.
// Schindelin, "A New Metric for Probability Distributions", 2003).
#pragma once

#include <span>
#include <vector>

#include "rules/eval/histogram_buckets.h"

namespace pitwall::eval {

// Makes buckets (sorted by bound, not empty) a shape: one bucket a bound, counts that never fall.
// False where they have none: no bucket without an upper bound, a count that is not a number, no
// observations.
bool MakeShape(std::vector<Bucket>* buckets);

// Of two shapes, 0 to 1, by the bounds that both have; NaN with fewer than two of these. The same
// either way round.
double ShapeDistance(std::span<const Bucket> a, std::span<const Bucket> b);

}  // namespace pitwall::eval
