// Grid of the panes of a demand: between two neighboring cuts no window of the demand
// begins or ends, so all samples there are one thing to it.
//
// Windows end at the ticks less the offset, one interval apart, and begin one range before. Where
// the interval divides the range, both fall on the same cuts. Elsewhere each interval has two panes
// (S. Krishnamurthy et al., "On-the-fly sharing for streamed aggregation", 2006): two for each
// interval of the window, however odd its length. All cuts are at absolute multiples.
#pragma once

#include <cstdint>

#include "services/model/position.h"
#include "services/model/windows/demand.h"

namespace pitwall {

inline constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline constexpr int64_t FloorMod(int64_t a, int64_t b) { return a - FloorDiv(a, b) * b; }

// Panes end at phase + k * length and, with a cut, at phase + k * length + cut; they hold what is
// after the end of the one before.
struct PaneGrid {
  int64_t length = 1;
  int64_t phase = 0;  // in [0, length)
  int64_t cut = 0;    // in (0, length); 0: none

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
  int64_t panes = 0;  // of the window; 0: from the beginning on (kAttempt, kInstant with an offset)
  int64_t delay = 0;  // panes between the one that holds the tick and the window's last
};

// demand.interval > 0. `origin`: where demands with align_job count from.
inline WindowShape ShapeOf(const Demand& demand, int64_t origin) {
  const bool ranged = demand.kind == WindowKind::kTime;
  const int64_t tick = demand.align_job ? origin : 0;  // one of them
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
