// Window functions that compute each result from all samples in the window, with the same
// operations as Prometheus 3. The results are therefore bit-identical. The streaming engine's
// windows (services/window) merge partial sums instead, so their results may differ in the last
// digits.
//
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/model/windows/function.h"

namespace pitwall::query {

// Samples of one series in (begin, end], without stale markers. The window contains at least one
// sample.
struct SampleWindow {
  std::span<const int64_t> times;  // in nanoseconds
  std::span<const double> values;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tick = 0;  // evaluation time, which may be outside the window
};

// Returns true for Prometheus functions, and false for Pitwall-specific functions.
bool CanScan(WindowFunction function);

// Returns the function's result for the window, or nullopt if the function has no result. `scratch`
// avoids allocations between calls.
std::optional<double> ScanWindow(WindowFunction function, const SampleWindow& window,
                                 std::span<const double> arguments, std::vector<double>* scratch);

// Converts a position to seconds. As in Prometheus, the conversion divides whole milliseconds.
double PositionSeconds(int64_t position);

}  // namespace pitwall::query
