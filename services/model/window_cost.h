// What a window costs each series in memory, told before it is made: for limits, and for people.
#pragma once

#include <cstdint>
#include <string>

#include "services/model/demand.h"

namespace pitwall {

// A window has at most so many panes: 30 days at 1 minute have 43,200.
inline constexpr int64_t kMaxPanes = 65'536;
// Where every sample is kept (KeepsSamples): so many samples a series, and so many panes.
inline constexpr int64_t kMaxKeptSamples = 4096;
// Samples of a [first N samples] window, which are kept for as long as the attempt lasts.
inline constexpr int64_t kMaxFirstSamples = 1024;

// What a function keeps of many samples of one series: 8-byte cells, and whether samples that stand
// alone are kept with their positions.
struct PartialSize {
  uint32_t cells = 0;  // 0: there is no such thing, every sample is kept
  bool timed = false;
};
PartialSize PartialOf(WindowFunction function);

// Whether the demand keeps each sample of its window by itself.
bool KeepsSamples(const Demand& demand);

// Upper bounds for a window of panes in an older pane's full row, without what all series share.
// Older panes of long windows are packed, to a fraction where values repeat.
struct WindowBytes {
  int64_t one_sample = 0;       // where no pane has two samples of a series
  int64_t several_samples = 0;  // elsewhere; of windows that keep samples: for each sample a pane
};
// `panes`: of the window and its offset.
WindowBytes BytesOf(const Demand& demand, int64_t panes);

// "812 B", "3.4 KiB", "1.2 MiB".
std::string BytesText(int64_t bytes);

}  // namespace pitwall
