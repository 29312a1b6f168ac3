// Limits of the cost of a window per series: the limits that rules are checked against and stores
// hold.
#pragma once

#include <cstdint>

namespace pitwall {

// A window has at most so many panes: 30 days at 1 minute have 43,200.
inline constexpr int64_t kMaxPanes = 65'536;
// Where every sample is kept (KeepsSamples of window_state.h): so many samples a series, and so
// many panes.
inline constexpr int64_t kMaxKeptSamples = 4096;
// A sketch keeps so many samples of a series; a run of like ones in one pane is one.
inline constexpr int64_t kMaxSketchSamples = int64_t{1} << 20;
// Samples of a [first N samples] window, which are kept for as long as the attempt lasts.
inline constexpr int64_t kMaxFirstSamples = 1024;

}  // namespace pitwall
