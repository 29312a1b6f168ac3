#include "services/model/windows/linear_bounds.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace pitwall {
namespace {

double Rounded(double value) {
  constexpr int kDigits = 15;  // decimals with this many digits survive a round trip through double
  if (!std::isfinite(value)) return value;
  char text[32];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), value, std::chars_format::general, kDigits);
  double out = value;
  std::from_chars(std::begin(text), end.ptr, out);
  return out;
}

}  // namespace

std::vector<double> LinearBounds(double first, double width, size_t count) {
  std::vector<double> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i)
    out.push_back(i == 0 ? first : Rounded(first + static_cast<double>(i) * width));
  return out;
}

}  // namespace pitwall
