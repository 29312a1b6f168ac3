// Test helper: naive implementation of the distance between histograms.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace pitwall::eval {

// Computes the distance of two histograms (cumulative counts by bound) from entropies: the square
// root of H((p + q) / 2) - (H(p) + H(q)) / 2.
inline double NaiveDistance(const std::map<double, double>& a, const std::map<double, double>& b) {
  std::vector<double> p, q, m;
  double at_a = 0, at_b = 0;
  for (const auto& [bound, count] : a) {
    if (!b.contains(bound)) continue;
    p.push_back((count - at_a) / a.rbegin()->second);
    q.push_back((b.at(bound) - at_b) / b.rbegin()->second);
    m.push_back((p.back() + q.back()) / 2);
    at_a = count;
    at_b = b.at(bound);
  }
  const auto entropy = [](const std::vector<double>& shares) {
    double h = 0;
    for (const double share : shares) h -= share > 0 ? share * std::log2(share) : 0;
    return h;
  };
  if (p.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(std::max(0.0, entropy(m) - (entropy(p) + entropy(q)) / 2));
}

}  // namespace pitwall::eval
