// Reference implementation of outlier and event periods, for oracle.h. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "services/window/testing/oracle_statistics.h"

namespace pitwall::window {

// Returns the period of events at the times t, computed directly from its definition
// (period_detector.h). d is the distance between adjacent samples, and n is the number of samples.
inline std::optional<double> OraclePeriod(const std::vector<double>& t, double d, double n) {
  const auto m = static_cast<double>(t.size());
  std::map<double, int> seen;  // distance in samples -> count
  for (size_t i = 1; i < t.size(); ++i) {
    ++seen[std::round((t[i] - t[i - 1]) / d)];
    if (i > 1) ++seen[std::round((t[i] - t[i - 2]) / d)];
  }
  std::vector<std::pair<int, double>> guesses;
  for (const auto& [samples, count] : seen) {
    if (samples >= 2) guesses.emplace_back(-count, samples * d);
  }
  std::sort(guesses.begin(), guesses.end());
  if (guesses.size() > 8) guesses.resize(8);
  std::optional<double> best;
  double most = 0;
  for (const auto& [count, guess] : guesses) {
    for (size_t start = 0; start < 4 && start + 1 < t.size(); ++start) {
      std::vector<std::pair<double, double>> kept = {{0, t[start]}};  // (grid point number, time)
      for (size_t i = start + 1; i < t.size(); ++i) {
        const double turns = std::round((t[i] - kept.back().second) / guess);
        const double off = std::fabs(t[i] - kept.back().second - turns * guess);
        if (turns >= 1 && off <= (guess >= 8 * d ? 1.25 : 0.5) * d)
          kept.emplace_back(kept.back().first + turns, t[i]);
      }
      if (kept.size() < 2) continue;
      double mean_k = 0, mean_t = 0, kk = 0, kt = 0;
      for (const auto& [k, at] : kept) {
        mean_k += k / static_cast<double>(kept.size());
        mean_t += at / static_cast<double>(kept.size());
      }
      for (const auto& [k, at] : kept) {
        kk += (k - mean_k) * (k - mean_k);
        kt += (k - mean_k) * (at - mean_t);
      }
      const double p = kt / kk, phase = mean_t - p * mean_k;
      if (p < 1.98 * d) continue;
      std::set<double> hit;
      double on = 0;
      for (const double at : t) {
        const double k = std::round((at - phase) / p);
        if (std::fabs(at - phase - k * p) > (p >= 8 * d ? 1.25 : 0.5) * d) continue;
        ++on;
        hit.insert(k);
      }
      const double points = std::round((t.back() - phase) / p) - std::round((t[0] - phase) / p) + 1;
      if (on < 0.8 * m || static_cast<double>(hit.size()) < 0.7 * points || on <= most) continue;
      const double q = (p >= 8 * d ? 3 : 1) * d / p;
      double chance = 0;
      for (double h = on - 2; h <= m - 2; ++h) {
        chance += std::exp(std::lgamma(m - 1) - std::lgamma(h + 1) - std::lgamma(m - 1 - h) +
                           h * std::log(q) + (m - 2 - h) * std::log(1 - q));
      }
      if (chance * n / 4 > 0.001) continue;
      most = on;
      const double whole = std::round(p);
      best = std::fabs(p - whole) <= std::min(0.1, 0.02 * p) ? whole : p;
    }
  }
  return best;
}

// Implements the definition in outlier_period.h.
inline std::optional<double> OracleOutlierPeriod(const std::vector<OracleSample>& all,
                                                 double limit) {
  std::vector<OracleSample> w;
  for (const OracleSample& s : all) {
    if (!std::isnan(s.value)) w.push_back(s);
  }
  if (w.size() < 5) return std::nullopt;
  const double median = OracleQuantile(w, 0.5), mad = OracleMad(w);
  if (!std::isfinite(median) || !std::isfinite(mad)) return std::nullopt;
  const double reach = limit * std::max(1.4826 * mad, std::fabs(median) / 100);
  const auto out = [&](const OracleSample& s) { return std::fabs(s.value - median) > reach; };
  std::vector<double> t;
  std::vector<OracleSample> distances;
  for (size_t i = 0; i < w.size(); ++i) {
    if (i > 0) distances.push_back({Position(), Seconds(w[i].position - w[i - 1].position)});
    if (out(w[i]) && (i == 0 || !out(w[i - 1])))
      t.push_back(Seconds(w[i].position - w[0].position));
  }
  const double d = OracleQuantile(distances, 0.5);
  if (t.size() < 3 || !(d > 0)) return std::nullopt;
  return OraclePeriod(t, d, static_cast<double>(w.size()));
}

// Uses only the last hundred times.
inline std::optional<double> OracleEventPeriod(const std::vector<OracleSample>& all,
                                               double resolution) {
  std::vector<double> t;
  for (const OracleSample& s : all) {
    if (std::isfinite(s.value)) t.push_back(s.value);
  }
  if (t.size() > 100) t.erase(t.begin(), t.end() - 100);
  if (t.size() < 3) return std::nullopt;
  std::sort(t.begin(), t.end());
  return OraclePeriod(t, resolution, (t.back() - t.front()) / resolution + 1);
}

}  // namespace pitwall::window
