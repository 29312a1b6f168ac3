// Longest run of consecutive non-zero samples in a window.
#pragma once

#include <span>

namespace pitwall::window {

// Sets `length` to the number of samples in the longest run of consecutive non-zero values, or 0 if
// all values are zero. NaN values are skipped: they neither extend nor end a run. Returns false if
// there are no numbers.
bool LongestRun(std::span<const double> values, double* length);

}  // namespace pitwall::window
