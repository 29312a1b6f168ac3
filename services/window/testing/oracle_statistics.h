// Reference implementations of sample statistics, for oracle.h. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "services/base/time.h"
#include "services/model/value.h"

namespace pitwall::window {

struct OracleSample {
  Position position;
  double value;
};

inline double Seconds(Duration d) { return static_cast<double>(d.ns()) / 1e9; }

inline double OracleSum(const std::vector<OracleSample>& w) {
  double sum = 0, c = 0;
  for (const OracleSample& s : w) {
    const double t = sum + s.value;
    if (std::isinf(t)) {
      c = 0;
    } else if (std::fabs(sum) >= std::fabs(s.value)) {
      c += (sum - t) + s.value;
    } else {
      c += (s.value - t) + sum;
    }
    sum = t;
  }
  return std::isinf(sum) ? sum : sum + c;
}

inline double OracleAvg(const std::vector<OracleSample>& w) {
  const double sum = OracleSum(w);
  const auto n = static_cast<double>(w.size());
  if (!std::isinf(sum)) return sum / n;
  double mean = 0;
  for (const OracleSample& s : w) mean += s.value / n;
  return mean;
}

inline double OracleStdvar(const std::vector<OracleSample>& w) {
  long double mean = 0, squares = 0;
  for (const OracleSample& s : w) mean += s.value;
  mean /= static_cast<long double>(w.size());
  for (const OracleSample& s : w) squares += (s.value - mean) * (s.value - mean);
  return static_cast<double>(squares / static_cast<long double>(w.size()));
}

inline double OracleExtreme(const std::vector<OracleSample>& w, bool max) {
  double best = w[0].value;
  for (const OracleSample& s : w) {
    if ((max ? s.value > best : s.value < best) || std::isnan(best)) best = s.value;
  }
  return best;
}

// If `size` is not null, *size is set to the interpolation between the absolute values of the same
// two samples.
inline double OracleQuantile(const std::vector<OracleSample>& w, double phi,
                             double* size = nullptr) {
  if (std::isnan(phi)) return NormalNan();
  if (phi < 0) return -std::numeric_limits<double>::infinity();
  if (phi > 1) return std::numeric_limits<double>::infinity();
  std::vector<double> v;
  for (const OracleSample& s : w) v.push_back(s.value);
  std::sort(v.begin(), v.end(),
            [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
  const auto n = static_cast<double>(v.size());
  const double rank = phi * (n - 1);
  const double lower = std::max(0.0, std::floor(rank));
  const double upper = std::min(n - 1, lower + 1);
  const double weight = rank - std::floor(rank);
  const double below = v[static_cast<size_t>(lower)], above = v[static_cast<size_t>(upper)];
  if (size != nullptr) *size = std::fabs(below) * (1 - weight) + std::fabs(above) * weight;
  return below * (1 - weight) + above * weight;
}

inline std::optional<double> OracleRate(const std::vector<OracleSample>& w, Position start,
                                        Position end, Duration range, bool counter, bool rate) {
  if (w.size() < 2) return std::nullopt;
  double result = w.back().value - w.front().value;
  if (counter) {
    for (size_t i = 1; i < w.size(); ++i) {
      if (w[i].value < w[i - 1].value) result += w[i - 1].value;
    }
  }
  double to_start = Seconds(w.front().position - start);
  double to_end = Seconds(end - w.back().position);
  const double sampled = Seconds(w.back().position - w.front().position);
  const double average = sampled / static_cast<double>(w.size() - 1);
  const double threshold = average * 1.1;
  if (to_start >= threshold) to_start = average / 2;
  if (counter) {
    double to_zero = to_start;
    if (result > 0 && w.front().value >= 0) to_zero = sampled * (w.front().value / result);
    if (to_zero < to_start) to_start = to_zero;
  }
  if (to_end >= threshold) to_end = average / 2;
  double factor = (sampled + to_start + to_end) / sampled;
  if (rate) factor /= Seconds(range);
  return result * factor;
}

// Computes Prometheus's linearRegression in long double precision, with positions relative to the
// first sample.
inline double OracleLine(const std::vector<OracleSample>& w, Position at, bool slope_only) {
  const bool equal =
      std::all_of(w.begin(), w.end(), [&](const OracleSample& s) { return s.value == w[0].value; });
  if (equal) return std::isinf(w[0].value) ? NormalNan() : slope_only ? 0 : w[0].value;
  long double t = 0, y = 0, tt = 0, ty = 0;
  const auto n = static_cast<long double>(w.size());
  const auto x = [&](Position position) {
    return static_cast<long double>((position - w[0].position).ns()) / 1e9L;
  };
  for (const OracleSample& s : w) t += x(s.position) / n, y += s.value / n;
  for (const OracleSample& s : w) {
    tt += (x(s.position) - t) * (x(s.position) - t);
    ty += (x(s.position) - t) * (s.value - y);
  }
  const long double slope = ty / tt;
  return static_cast<double>(slope_only ? slope : y + slope * (x(at) - t));
}

inline double OracleMad(const std::vector<OracleSample>& w) {
  for (const OracleSample& s : w) {
    if (std::isnan(s.value)) return NormalNan();
  }
  const double median = OracleQuantile(w, 0.5);
  std::vector<OracleSample> deviations = w;
  for (OracleSample& s : deviations) s.value = std::fabs(s.value - median);
  return OracleQuantile(deviations, 0.5);
}

}  // namespace pitwall::window
