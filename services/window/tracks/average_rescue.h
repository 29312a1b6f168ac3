// Averages of windows whose sum overflowed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/window/kernels/pane.h"
#include "services/window/tracks/sliding_window.h"

namespace pitwall::window {

// Computes averages that are present but not finite again, from scaled sums of the panes of
// `window`. `sums_index`: of the partials of kSums. A window without a begin keeps its results: its
// panes are gone.
void RescueAverages(const SlidingWindow& window, size_t sums_index, PaneSource& source,
                    double* values, const uint8_t* present);

}  // namespace pitwall::window
