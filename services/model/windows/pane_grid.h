// Grid of panes for a demand. No window of the demand starts or ends between two neighboring cuts,
// so all samples in between form one unit.
//
// Windows end at the ticks minus the offset, one interval apart, and start one range earlier. If
// the interval divides the range, starts and ends fall on the same cuts. Otherwise, each interval
// has two panes (S. Krishnamurthy et al., "On-the-fly sharing for streamed aggregation", 2006),
// regardless of the window's length. All cuts are absolute multiples.
#pragma once

#include <cstdint>

#include "services/model/position.h"
#include "services/model/windows/demand.h"

namespace pitwall {

inline constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline constexpr int64_t FloorMod(int64_t a, int64_t b) { return a - FloorDiv(a, b) * b; }

// Panes end at phase + k * length and, if there is a cut, also at phase + k * length + cut. Each
// pane contains the samples after the end of the previous pane.
struct PaneGrid {
  int64_t length = 1;
  int64_t phase = 0;  // in [0, length)
  int64_t cut = 0;    // in (0, length); 0: no cut

  int64_t IndexOf(int64_t position) const {
    const int64_t k = FloorDiv(position - phase - 1, length);
    if (cut == 0) return k;
    return 2 * k + (position - phase - 1 - k * length >= cut ? 1 : 0);
  }
  int64_t EndOf(int64_t index) const {
    if (cut == 0) return phase + (index + 1) * length;
    const int64_t k = FloorDiv(index, 2);
    return phase + k * length + (index == 2 * k ? cut : length);
  }
  friend bool operator==(const PaneGrid&, const PaneGrid&) = default;
};

struct WindowShape {
  PaneGrid grid;
  // Number of panes in the window. 0: from the start (kAttempt, or kInstant with an offset).
  int64_t panes = 0;
  int64_t delay = 0;  // number of panes between the current pane and the window's last pane
};

// Returns the shape of a demand's window. demand.interval > 0. `origin`: reference for demands with
// align_job.
inline WindowShape ShapeOf(const Demand& demand, int64_t origin) {
  const bool ranged = demand.kind == WindowKind::kTime;
  const int64_t tick = demand.align_job ? origin : 0;  // a reference tick
  WindowShape shape;
  shape.grid.length = demand.interval;
  shape.grid.phase = FloorMod(tick - demand.offset, demand.interval);
  if (ranged) shape.grid.cut = FloorMod(-demand.range, demand.interval);
  const int64_t end = shape.grid.IndexOf(tick - demand.offset);
  if (ranged) shape.panes = end - shape.grid.IndexOf(tick - demand.offset - demand.range);
  shape.delay = shape.grid.IndexOf(tick) - end;
  return shape;
}

}  // namespace pitwall
