// Recomputation of averages whose sum overflowed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/window/kernels/pane.h"
#include "services/window/tracks/sliding_window.h"

namespace pitwall::window {

// Recomputes present but non-finite averages from the scaled sums of the panes in `window`.
// `sums_index` is the index of the kSums partials. A window without a start keeps its results,
// because its panes were dropped.
void RescueAverages(const SlidingWindow& window, size_t sums_index, PaneSource& source,
                    double* values, const uint8_t* present);

}  // namespace pitwall::window
