#include "services/window/functions/order_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

// Returns the 0.5 quantile of numbers in any order, with NaN sorted first.
double MedianOf(std::vector<double>* values) {
  std::sort(values->begin(), values->end(),
            [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
  const double rank = 0.5 * static_cast<double>(values->size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(values->size() - 1, below + 1);
  const double weight = rank - std::floor(rank);
  return (*values)[below] * (1 - weight) + (*values)[above] * weight;
}

std::vector<int64_t> SortedKeys(std::span<const double> values) {
  std::vector<int64_t> keys;
  keys.reserve(values.size());
  for (const double value : values) keys.push_back(KeyOf(value));
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

int64_t KeyOf(double value) {
  if (std::isnan(value)) return std::numeric_limits<int64_t>::min();
  const auto bits = std::bit_cast<int64_t>(value);
  return bits ^ static_cast<int64_t>(static_cast<uint64_t>(bits >> 63) >> 1);
}

double ValueOf(int64_t key) {
  if (key == std::numeric_limits<int64_t>::min()) return NormalNan();
  return std::bit_cast<double>(key ^ static_cast<int64_t>(static_cast<uint64_t>(key >> 63) >> 1));
}

size_t LowerBound(std::span<const int64_t> keys, int64_t key) {
  const int64_t* base = keys.data();
  size_t n = keys.size();
  while (n > 1) {
    const size_t half = n / 2;
    base += base[half - 1] < key ? half : 0;
    n -= half;
  }
  return static_cast<size_t>(base - keys.data()) + (n == 1 && *base < key ? 1 : 0);
}

Rank::Rank(double phi, size_t n) {
  const double rank = phi * static_cast<double>(n - 1);
  const double floor = std::floor(rank);
  below = static_cast<size_t>(floor);
  above = std::min(n - 1, below + 1);
  weight = rank - floor;
}

double QuantileOutside(double phi) {
  if (std::isnan(phi)) return NormalNan();
  return phi < 0 ? -std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::infinity();
}

double QuantileOf(std::span<const double> values, double phi) {
  if (!(phi >= 0 && phi <= 1)) return QuantileOutside(phi);
  const std::vector<int64_t> keys = SortedKeys(values);
  const Rank rank(phi, keys.size());
  return rank.Between(keys[rank.below], keys[rank.above]);
}

double MadOf(std::span<const double> values) {
  std::vector<double> scratch;
  return MadOfSorted(SortedKeys(values), &scratch);
}

// Deviations increase from the median in both directions, so always stepping to the nearer side
// visits them in ascending order.
double MadOfSorted(std::span<const int64_t> keys, std::vector<double>* scratch) {
  const size_t n = keys.size();
  if (std::isnan(ValueOf(keys[0]))) return NormalNan();
  const Rank rank(0.5, n);
  const double median = rank.Between(keys[rank.below], keys[rank.above]);
  // Infinities need a separate computation, because inf - inf is NaN.
  if (std::isinf(ValueOf(keys[0])) || std::isinf(ValueOf(keys[n - 1]))) {
    scratch->clear();
    for (const int64_t key : keys) scratch->push_back(std::fabs(ValueOf(key) - median));
    return MedianOf(scratch);
  }
  // The keys in [0, left) and [right, n) have not been visited yet.
  size_t right = LowerBound(keys, KeyOf(median)), left = right;
  double last = 0, before = 0;
  for (size_t taken = 0; taken <= std::min(n - 1, rank.below + 1); ++taken) {
    const double to_left =
        left > 0 ? median - ValueOf(keys[left - 1]) : std::numeric_limits<double>::infinity();
    const double to_right =
        right < n ? ValueOf(keys[right]) - median : std::numeric_limits<double>::infinity();
    before = last;
    if (to_left <= to_right) {
      last = std::fabs(to_left);
      --left;
    } else {
      last = std::fabs(to_right);
      ++right;
    }
  }
  if (n == 1) return last;
  return before * (1 - rank.weight) + last * rank.weight;
}

}  // namespace pitwall::window
