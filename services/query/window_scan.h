// Window functions computed from all samples of a window at once, with the same operations as
// Prometheus 3, so results are bit-identical. The windows of the streaming engine (services/window)
// merge partial sums instead, so their results may differ in the last digits.
//
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/model/windows/function.h"

namespace pitwall::query {

// Samples of one series in (begin, end], without stale markers. There is at least one sample.
struct SampleWindow {
  std::span<const int64_t> times;  // in nanoseconds
  std::span<const double> values;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tick = 0;  // evaluation time, which may be outside the window
};

// Returns true for the functions of Prometheus, and false for functions specific to Pitwall.
bool CanScan(WindowFunction function);

// Returns the result for the window, or nullopt if the function has no result. `scratch` avoids
// allocations between calls.
std::optional<double> ScanWindow(WindowFunction function, const SampleWindow& window,
                                 std::span<const double> arguments, std::vector<double>* scratch);

// Converts a position to seconds. Like Prometheus, divides whole milliseconds.
double PositionSeconds(int64_t position);

}  // namespace pitwall::query
