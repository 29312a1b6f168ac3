// The upper bounds of a histogram with buckets of equal width.
#pragma once

#include <cstddef>
#include <vector>

namespace pitwall {

inline constexpr size_t kMaxHistogramBounds = 256;

// first, first + width, first + 2 width, …: `count` bounds. All but the first are rounded to 15
// significant digits, so that 0.1 + 2 · 0.1 is 0.3: the number that samples are compared with, and
// its text, are those that one would write. Neighbors may be equal or infinite where `width` is
// too small or large for `first`.
std::vector<double> LinearBounds(double first, double width, size_t count);

}  // namespace pitwall
