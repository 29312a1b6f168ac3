// Window functions computed from all samples of the window at once, with the operations of
// Prometheus 3: results are bit-identical. The windows of the streaming engine (services/window)
// merge partial sums instead, whose last digits differ.
//
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/model/windows/function.h"

namespace pitwall::query {

// Samples of one series in (begin, end], without stale markers. At least one.
struct SampleWindow {
  std::span<const int64_t> times;  // in nanoseconds
  std::span<const double> values;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tick = 0;  // of the evaluation, independent of the window
};

// Returns true for the functions of Prometheus, and false for those of Pitwall.
bool CanScan(WindowFunction function);

// Returns nothing if the window has no result. `scratch` saves allocations between calls.
std::optional<double> ScanWindow(WindowFunction function, const SampleWindow& window,
                                 std::span<const double> arguments, std::vector<double>* scratch);

// Returns a position in seconds. Divides whole milliseconds like Prometheus.
double PositionSeconds(int64_t position);

}  // namespace pitwall::query
