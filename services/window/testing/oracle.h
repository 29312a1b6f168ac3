// Reference implementation of every window function over all samples of one series. It computes the
// same results as Prometheus 3 and, like Prometheus, scans the window at each evaluation. For tests
// only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/model/value.h"
#include "services/model/windows/demand.h"
#include "services/window/testing/oracle_period.h"
#include "services/window/testing/oracle_statistics.h"

namespace pitwall::window {

inline std::optional<double> OracleSmoothing(const std::vector<OracleSample>& w, double sf,
                                             double tf) {
  if (w.size() < 2) return std::nullopt;
  double before = 0, now = w[0].value, slope = w[1].value - w[0].value;
  for (size_t i = 1; i < w.size(); ++i) {
    if (i > 1) slope = tf * (now - before) + (1 - tf) * slope;
    const double next = sf * w[i].value + (1 - sf) * (now + slope);
    before = now;
    now = next;
  }
  return now;
}

// Returns the fraction of the known time in (start, end] in which the state was not zero. A sample
// determines the state from its position to the next sample, for at most `hold`. After a NaN or a
// stale marker, the state is unknown.
inline std::optional<double> OracleShare(const std::vector<OracleSample>& all, Position since,
                                         Position start, Position end, Duration hold) {
  Duration known, on;
  std::optional<double> at_end;
  for (size_t i = 0; i < all.size(); ++i) {
    const OracleSample& s = all[i];
    if (s.position <= since || s.position > end || std::isnan(s.value)) continue;
    Position until = s.position + hold;
    if (i + 1 < all.size()) until = std::min(until, all[i + 1].position);
    if (until > end) at_end = s.value != 0 ? 1 : 0;
    const Duration length =
        std::max(Duration::Zero(), std::min(until, end) - std::max(s.position, start));
    known += length;
    on += s.value != 0 ? length : Duration::Zero();
  }
  if (known == Duration::Zero()) return at_end;
  return static_cast<double>(on.ns()) / static_cast<double>(known.ns());
}

// Counts outliers among the samples that are numbers. *error is set to the number of samples that
// are so close to the limit that a rounding error could change the result.
inline std::optional<double> OracleOutliers(const std::vector<OracleSample>& w, double deviations,
                                            double* error) {
  std::vector<long double> v;
  for (const OracleSample& s : w) {
    if (!std::isnan(s.value)) v.push_back(s.value);
  }
  if (v.empty()) return std::nullopt;
  const auto n = static_cast<long double>(v.size());
  long double mean = 0, variance = 0;
  for (const long double x : v) mean += x / n;
  for (const long double x : v) variance += (x - mean) * (x - mean) / n;
  const long double limit = mean + deviations * std::sqrt(variance);
  if (!std::isfinite(limit)) return std::nullopt;
  double count = 0;
  for (const long double x : v) {
    count += x > limit ? 1 : 0;
    *error += std::fabs(x - limit) <= 1e-9L * (std::fabs(mean) + std::sqrt(variance)) ? 1 : 0;
  }
  return count;
}

// Computes the length of each stretch of non-zero numbers and returns the largest.
inline std::optional<double> OracleLongestRun(const std::vector<OracleSample>& w) {
  std::vector<double> runs;
  for (const OracleSample& s : w) {
    if (std::isnan(s.value)) continue;
    const bool continues = s.value != 0 && !runs.empty();
    runs.push_back(s.value == 0 ? 0 : continues ? runs.back() + 1 : 1);
  }
  if (runs.empty()) return std::nullopt;
  return *std::max_element(runs.begin(), runs.end());
}

// Computes the slope from at most `most` evenly spaced samples.
inline std::optional<double> OracleTheilSen(const std::vector<OracleSample>& all, size_t most) {
  std::vector<OracleSample> numbers, w;
  std::vector<double> slopes;
  for (const OracleSample& s : all) {
    if (!std::isnan(s.value)) numbers.push_back(s);
  }
  const size_t n = numbers.size(), kept = std::min(n, most);
  for (size_t k = 0; k < kept; ++k) w.push_back(numbers[n <= most ? k : k * (n - 1) / (most - 1)]);
  for (const OracleSample& a : w) {
    for (const OracleSample& b : w) {
      if (a.position >= b.position) continue;
      const double slope = (b.value - a.value) / Seconds(b.position - a.position);
      if (!std::isnan(slope)) slopes.push_back(slope);
    }
  }
  if (slopes.empty()) return std::nullopt;
  std::sort(slopes.begin(), slopes.end());
  const double upper = slopes[slopes.size() / 2];
  return slopes.size() % 2 == 1 ? upper : slopes[slopes.size() / 2 - 1] * 0.5 + upper * 0.5;
}

inline std::optional<double> OracleKendall(const std::vector<OracleSample>& w) {
  double rises = 0, falls = 0, pairs = 0;
  for (const OracleSample& a : w) {
    for (const OracleSample& b : w) {
      if (a.position >= b.position || std::isnan(a.value) || std::isnan(b.value)) continue;
      pairs += 1;
      rises += a.value < b.value ? 1 : 0;
      falls += a.value > b.value ? 1 : 0;
    }
  }
  if (pairs == 0) return std::nullopt;
  return (rises - falls) / pairs;
}

// Returns the count of one bucket in a histogram with the given bounds. The bucket after the last
// bound counts all samples.
inline double OracleBucket(const std::vector<OracleSample>& w, const std::vector<double>& bounds,
                           size_t bucket) {
  if (bucket == bounds.size()) return static_cast<double>(w.size());
  double count = 0;
  for (const OracleSample& s : w) count += s.value <= bounds[bucket] ? 1 : 0;
  return count;
}

// The arguments are blocks, φ, rank, and optionally the samples per block (docs/functions.md).
inline std::optional<double> OracleBlocks(const std::vector<OracleSample>& all,
                                          const std::vector<double>& arguments) {
  std::vector<OracleSample> numbers;
  for (const OracleSample& s : all) {
    if (!std::isnan(s.value)) numbers.push_back(s);
  }
  const double blocks = arguments[0], rank = arguments[2];
  const double size = arguments.size() > 3
                          ? arguments[3]
                          : std::floor(static_cast<double>(numbers.size()) / blocks);
  if (arguments.size() == 3 && size < 5) return std::nullopt;
  if (rank > blocks || blocks * size > static_cast<double>(numbers.size())) return std::nullopt;
  std::vector<double> quantiles;
  for (double k = 0; k < blocks; ++k) {  // newest block first
    std::vector<double> block;
    for (double i = 0; i < size; ++i) {
      block.push_back(numbers.back().value);
      numbers.pop_back();
    }
    std::sort(block.begin(), block.end());
    const double at = arguments[1] * (size - 1);
    const double below = block[static_cast<size_t>(std::floor(at))];
    const double above = block[static_cast<size_t>(std::ceil(at))];
    const double weight = at - std::floor(at);
    quantiles.push_back(weight == 0 ? below : below * (1 - weight) + above * weight);
    if (std::isnan(quantiles.back())) return std::nullopt;
  }
  std::sort(quantiles.begin(), quantiles.end());
  return quantiles[static_cast<size_t>(rank) - 1];
}

// Parses a demand's arguments. In tests, they are comma-separated numbers.
inline std::vector<double> OracleArguments(const Demand& demand) {
  std::vector<double> out;
  std::string text = demand.arguments;
  while (!text.empty()) {
    size_t used = 0;
    out.push_back(std::stod(text, &used));
    text.erase(0, used + 1);
  }
  return out;
}

// Returns the demand's value at `tick` for a series with the given samples, which must be in
// ascending order and include stale markers. Only samples after `since` are used. *error is set to
// the permitted error of a sketch. `bucket` selects one of several values.
inline std::optional<double> OracleRead(const Demand& demand, Position tick, Position since,
                                        const std::vector<OracleSample>& all, double* error,
                                        size_t bucket = 0) {
  *error = 0;
  const Position end = tick - Duration::Nanos(demand.offset);
  const Duration lookback = Duration::Nanos(demand.lookback);
  if (demand.function == WindowFunction::kShare) {
    const bool attempt = demand.kind == WindowKind::kAttempt;
    return OracleShare(all, since, attempt ? since : end - Duration::Nanos(demand.range), end,
                       lookback);
  }
  const bool counted = demand.kind == WindowKind::kSamples;
  const bool first = demand.kind == WindowKind::kFirst;
  const bool instant = demand.kind == WindowKind::kInstant;
  const Duration range = instant ? lookback : Duration::Nanos(demand.range);
  const Position begin = counted || first ? Position::Earliest() : end - range;
  const auto after = [](Position position, const OracleSample& s) { return position < s.position; };
  const std::span<const OracleSample> samples(
      std::upper_bound(all.begin(), all.end(), begin, after),
      std::upper_bound(all.begin(), all.end(), end, after));
  if (instant) {
    const OracleSample* newest = nullptr;
    for (const OracleSample& s : samples) {
      if (s.position <= end && s.position > end - lookback && s.position > since) newest = &s;
    }
    if (newest == nullptr || IsStale(newest->value)) return std::nullopt;
    return demand.function == WindowFunction::kLast
               ? newest->value
               : static_cast<double>(newest->position.ns()) / 1e9;
  }
  Position start = begin;
  std::vector<OracleSample> w;
  for (const OracleSample& s : samples) {
    if (s.position > start && s.position <= end && s.position > since && !IsStale(s.value))
      w.push_back(s);
  }
  if (first) std::erase_if(w, [](const OracleSample& s) { return std::isnan(s.value); });
  if (w.empty()) return std::nullopt;
  Duration covered = range;
  if (first) {
    const auto skip = static_cast<size_t>(demand.skip), wanted = static_cast<size_t>(demand.range);
    if (w.size() < skip + wanted) return std::nullopt;
    w.resize(skip + wanted);
    w.erase(w.begin(), w.begin() + demand.skip);
    start = w.front().position;
    covered = w.back().position - start;
  }
  if (counted) {
    const OracleSample& newest = samples.back();
    if (IsStale(newest.value) || newest.position <= end - lookback || newest.position <= since)
      return std::nullopt;
    w.clear();
    for (size_t i = samples.size(); i-- > 0;) {  // goes back to the last gap
      const bool gap =
          i + 1 < samples.size() && samples[i].position <= samples[i + 1].position - lookback;
      if (gap || IsStale(samples[i].value) || samples[i].position <= since) break;
      w.insert(w.begin(), samples[i]);
    }
    const auto wanted = static_cast<size_t>(demand.range);
    if (w.size() > wanted) w.erase(w.begin(), w.end() - static_cast<ptrdiff_t>(wanted));
    start = w.front().position;
    covered = w.back().position - start;
  }
  const Position stop = counted || first ? w.back().position : end;
  switch (demand.function) {
    case WindowFunction::kSum:
      return OracleSum(w);
    case WindowFunction::kAvg:
      return OracleAvg(w);
    case WindowFunction::kCount:
      return static_cast<double>(w.size());
    case WindowFunction::kPresent:
      return 1;
    case WindowFunction::kStddev:
      return std::sqrt(OracleStdvar(w));
    case WindowFunction::kStdvar:
      return OracleStdvar(w);
    case WindowFunction::kMin:
      return OracleExtreme(w, false);
    case WindowFunction::kMax:
      return OracleExtreme(w, true);
    case WindowFunction::kLastOverTime:
      return w.back().value;
    case WindowFunction::kFirstOverTime:
      return w.front().value;
    case WindowFunction::kRate:
      return OracleRate(w, start, stop, covered, true, true);
    case WindowFunction::kIncrease:
      return OracleRate(w, start, stop, covered, true, false);
    case WindowFunction::kDelta:
      return OracleRate(w, start, stop, covered, false, false);
    case WindowFunction::kIrate:
    case WindowFunction::kIdelta: {
      if (w.size() < 2) return std::nullopt;
      const OracleSample &a = w[w.size() - 2], &b = w.back();
      if (demand.function == WindowFunction::kIdelta) return b.value - a.value;
      const double increase = b.value < a.value ? b.value : b.value - a.value;
      return increase / Seconds(b.position - a.position);
    }
    case WindowFunction::kResets:
    case WindowFunction::kChanges: {
      double n = 0;
      for (size_t i = 1; i < w.size(); ++i) {
        const double a = w[i - 1].value, b = w[i].value;
        if (demand.function == WindowFunction::kResets) {
          n += b < a ? 1 : 0;
        } else {
          n += b != a && !(std::isnan(a) && std::isnan(b)) ? 1 : 0;
        }
      }
      return n;
    }
    case WindowFunction::kTsOfFirst:
      return static_cast<double>(w.front().position.ns()) / 1e9;
    case WindowFunction::kTsOfLast:
      return static_cast<double>(w.back().position.ns()) / 1e9;
    case WindowFunction::kTsOfMin:
    case WindowFunction::kTsOfMax: {
      const OracleSample* best = &w[0];
      for (const OracleSample& s : w) {
        const bool better = demand.function == WindowFunction::kTsOfMax ? s.value >= best->value
                                                                        : s.value <= best->value;
        if (better || std::isnan(best->value)) best = &s;
      }
      return static_cast<double>(best->position.ns()) / 1e9;
    }
    case WindowFunction::kDeriv:
    case WindowFunction::kIntercept:
      if (w.size() < 2) return std::nullopt;
      return OracleLine(w, tick, demand.function == WindowFunction::kDeriv);
    case WindowFunction::kQuantile:
      return OracleQuantile(w, OracleArguments(demand)[0]);
    case WindowFunction::kSketchQuantile: {
      double size = 0;
      const double quantile = OracleQuantile(w, OracleArguments(demand)[0], &size);
      *error = counted ? 0 : size / 129;
      return quantile;
    }
    case WindowFunction::kMad:
      return OracleMad(w);
    case WindowFunction::kSmoothing:
      return OracleSmoothing(w, OracleArguments(demand)[0], OracleArguments(demand)[1]);
    case WindowFunction::kOutlierPeriod:
      return OracleOutlierPeriod(w, OracleArguments(demand)[0]);
    case WindowFunction::kEventPeriod:
      return OracleEventPeriod(w, OracleArguments(demand)[0]);
    case WindowFunction::kOutliers:
      return OracleOutliers(w, OracleArguments(demand)[0], error);
    case WindowFunction::kRobustDeriv:
      return OracleTheilSen(w, 256);
    case WindowFunction::kKendallTau:
      return OracleKendall(w);
    case WindowFunction::kHistogram:
      return OracleBucket(w, OracleArguments(demand), bucket);
    case WindowFunction::kBlockQuantile:
      return OracleBlocks(w, OracleArguments(demand));
    case WindowFunction::kLongestRun:
      return OracleLongestRun(w);
    case WindowFunction::kShare:
    case WindowFunction::kLast:
    case WindowFunction::kTimestamp:
      break;
  }
  return std::nullopt;
}

}  // namespace pitwall::window
