// Limits on window size per series, checked in rules and enforced by stores.
#pragma once

#include <cstdint>

namespace pitwall {

// Maximum number of panes per window. For comparison, a window of 30 days at 1 minute has 43,200
// panes.
inline constexpr int64_t kMaxPanes = 65'536;
// Maximum number of samples per series, and of panes, if every sample is kept (KeepsSamples in
// window_state.h).
inline constexpr int64_t kMaxKeptSamples = 4096;
// Maximum number of samples a sketch keeps per series. Consecutive equal values within a pane count
// once.
inline constexpr int64_t kMaxSketchSamples = int64_t{1} << 20;
// Maximum number of samples in a [first N samples] window. They are kept until the attempt ends.
inline constexpr int64_t kMaxFirstSamples = 1024;

}  // namespace pitwall
