#include "rules/eval/histogram_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/model/value.h"

namespace pitwall::eval {
namespace {

// Two shares that differ by less than a billionth contribute less than 1e-18 to the divergence.
// Such contributions are rounding errors, but their square root is not negligible.
constexpr double kAlike = 1e-9;

// Returns the contribution of one of the two shares to the divergence, in bits.
double Part(double share, double other) {
  if (share == 0 || std::fabs(share - other) <= kAlike * (share + other)) return 0;
  return other == 0 ? share : share * std::log2(2 * share / (share + other));
}

}  // namespace

bool MakeShape(std::vector<Bucket>* buckets) {
  if (buckets->back().bound != std::numeric_limits<double>::infinity()) return false;
  Coalesce(buckets);
  for (const Bucket& bucket : *buckets) {
    if (!std::isfinite(bucket.count)) return false;
  }
  MakeMonotonic(buckets);
  return buckets->back().count > 0;
}

double ShapeDistance(std::span<const Bucket> a, std::span<const Bucket> b) {
  const double total_a = a.back().count, total_b = b.back().count;
  double before_a = 0, before_b = 0, divergence = 0;
  size_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Bucket& x = a[i];
    const Bucket& y = b[j];
    if (x.bound != y.bound) {
      ++(x.bound < y.bound ? i : j);
      continue;
    }
    ++common;
    const double p = (x.count - before_a) / total_a, q = (y.count - before_b) / total_b;
    divergence += 0.5 * (Part(p, q) + Part(q, p));
    before_a = x.count;
    before_b = y.count;
    ++i;
    ++j;
  }
  if (common < 2) return NormalNan();
  return std::sqrt(std::clamp(divergence, 0.0, 1.0));
}

}  // namespace pitwall::eval
