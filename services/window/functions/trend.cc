#include "services/window/functions/trend.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pitwall::window {
namespace {

double Seconds(int64_t distance) { return static_cast<double>(distance) / 1e9; }

// Returns the median. Reorders the numbers.
double MedianOf(std::vector<double>* numbers) {
  const auto middle = numbers->begin() + static_cast<ptrdiff_t>(numbers->size() / 2);
  std::nth_element(numbers->begin(), middle, numbers->end());
  if (numbers->size() % 2 == 1) return *middle;
  return *std::max_element(numbers->begin(), middle) * 0.5 + *middle * 0.5;
}

// Sorts the numbers and returns the number of pairs that were in descending order.
uint64_t SortAndCountFalls(std::vector<double>* numbers) {
  const size_t n = numbers->size();
  std::vector<double> merged(n);
  uint64_t falls = 0;
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      const size_t middle = std::min(n, begin + width), end = std::min(n, begin + 2 * width);
      size_t left = begin, right = middle;
      for (size_t to = begin; to < end; ++to) {
        // Of two equal values, the left one is merged first, because equal values are not in
        // descending order.
        if (left < middle && (right == end || (*numbers)[left] <= (*numbers)[right])) {
          merged[to] = (*numbers)[left++];
        } else {
          merged[to] = (*numbers)[right++];
          falls += middle - left;
        }
      }
    }
    numbers->swap(merged);
  }
  return falls;
}

uint64_t PairsOf(uint64_t n) { return n * (n - 1) / 2; }

}  // namespace

bool TheilSenSlope(std::span<const int64_t> positions, std::span<const double> values,
                   double* slope) {
  std::vector<size_t> samples;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) samples.push_back(i);
  }
  if (const size_t n = samples.size(); n > kMaxSlopeSamples) {
    for (size_t k = 0; k < kMaxSlopeSamples; ++k)
      samples[k] = samples[k * (n - 1) / (kMaxSlopeSamples - 1)];
    samples.resize(kMaxSlopeSamples);
  }
  std::vector<double> slopes;
  slopes.reserve(samples.empty() ? 0 : PairsOf(samples.size()));
  for (size_t j = 1; j < samples.size(); ++j) {
    const size_t b = samples[j];
    for (size_t i = 0; i < j; ++i) {
      const size_t a = samples[i];
      const double each = (values[b] - values[a]) / Seconds(positions[b] - positions[a]);
      if (!std::isnan(each)) slopes.push_back(each);
    }
  }
  if (slopes.empty()) return false;
  *slope = MedianOf(&slopes);
  return true;
}

bool KendallTau(std::span<const double> values, double* tau) {
  std::vector<double> numbers;
  for (const double value : values) {
    if (!std::isnan(value)) numbers.push_back(value);
  }
  if (numbers.size() < 2) return false;
  const uint64_t falls = SortAndCountFalls(&numbers);
  uint64_t ties = 0;
  for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    while (end < numbers.size() && numbers[end] == numbers[begin]) ++end;
    ties += PairsOf(end - begin);
  }
  const uint64_t pairs = PairsOf(numbers.size());
  const auto rises = static_cast<double>(pairs - ties - falls);
  *tau = (rises - static_cast<double>(falls)) / static_cast<double>(pairs);
  return true;
}

}  // namespace pitwall::window
