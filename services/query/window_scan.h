// Functions over windows, computed from all samples of the window at once, operation by operation
// as Prometheus 3 computes them: results are the same to the bit. The streaming engine's windows
// (services/window) merge partial sums instead, whose last digits differ.
//
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/model/windows/function.h"

namespace pitwall::query {

// The samples of one series in (begin, end], none of them a stale marker. At least one.
struct SampleWindow {
  std::span<const int64_t> times;  // in nanoseconds
  std::span<const double> values;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tick = 0;  // of the evaluation, wherever the window is
};

// Whether ScanWindow knows the function: those of Prometheus, not Pitwall's own.
bool CanScan(WindowFunction function);

// Nothing: the window has no result. `scratch` saves allocations between calls.
std::optional<double> ScanWindow(WindowFunction function, const SampleWindow& window,
                                 std::span<const double> arguments, std::vector<double>* scratch);

// A position in seconds. Whole milliseconds are divided as Prometheus divides them.
double PositionSeconds(int64_t position);

}  // namespace pitwall::query
