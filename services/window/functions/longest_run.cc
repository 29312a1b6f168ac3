#include "services/window/functions/longest_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pitwall::window {

bool LongestRun(std::span<const double> values, double* length) {
  size_t longest = 0, run = 0;
  bool any = false;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    any = true;
    run = value != 0 ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  *length = static_cast<double>(longest);
  return any;
}

}  // namespace pitwall::window
