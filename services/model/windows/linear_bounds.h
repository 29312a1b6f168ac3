// Upper bounds for a histogram with equal-width buckets.
#pragma once

#include <cstddef>
#include <vector>

namespace pitwall {

inline constexpr size_t kMaxHistogramBounds = 256;

// Returns `count` bounds: first, first + width, first + 2 width, … All bounds except the first are
// rounded to 15 significant digits, so 0.1 + 2 · 0.1 is 0.3 in comparisons and as text. Neighboring
// bounds may be equal or infinite if `width` is too small or too large for `first`.
std::vector<double> LinearBounds(double first, double width, size_t count);

}  // namespace pitwall
