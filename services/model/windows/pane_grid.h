// Grid of panes for a demand. No window of the demand starts or ends between two neighboring cuts,
// so all samples in between form one unit.
//
// Windows end at the ticks minus the offset, one interval apart, and start one range earlier. If
// the interval divides the range, starts and ends fall on the same cuts. Otherwise, each interval
// has two panes (S. Krishnamurthy et al., "On-the-fly sharing for streamed aggregation", 2006),
// regardless of the window's length. All cuts are at fixed offsets from multiples of the interval.
#pragma once

#include <cstdint>

#include "services/base/time.h"
#include "services/model/windows/demand.h"

namespace pitwall {

inline constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline constexpr int64_t FloorMod(int64_t a, int64_t b) { return a - FloorDiv(a, b) * b; }
inline constexpr Duration FloorMod(Duration a, Duration b) {
  return Duration::Nanos(FloorMod(a.ns(), b.ns()));
}

// Index of a pane in a grid.
using PaneIndex = StrongInteger<struct PaneIndexTag>;
inline constexpr int64_t FloorDiv(PaneIndex a, int64_t b) { return FloorDiv(a.value(), b); }
inline constexpr int64_t FloorMod(PaneIndex a, int64_t b) { return FloorMod(a.value(), b); }

// Panes end at phase + k * length and, if there is a cut, also at phase + k * length + cut. Each
// pane contains the samples after the end of the previous pane.
struct PaneGrid {
  Duration length = Duration::Nanos(1);
  Duration phase;  // in [0, length)
  Duration cut;    // in (0, length); 0: no cut

  PaneIndex IndexOf(Position position) const {
    const Duration at = position.Previous() - (Position() + phase);
    const int64_t k = FloorDiv(at.ns(), length.ns());
    if (cut == Duration::Zero()) return PaneIndex(k);
    return PaneIndex(2 * k + (at - k * length >= cut ? 1 : 0));
  }
  Position EndOf(PaneIndex index) const {
    const Position start = Position() + phase;
    if (cut == Duration::Zero()) return start + (index.value() + 1) * length;
    const int64_t k = FloorDiv(index, 2);
    return start + k * length + (index.value() == 2 * k ? cut : length);
  }
  friend bool operator==(const PaneGrid&, const PaneGrid&) = default;
};

// The panes of a window, counted back from the current pane.
struct WindowPanes {
  // Number of panes in the window. 0: from the start (kAttempt, or kInstant with an offset).
  int64_t count = 0;
  int64_t delay = 0;  // number of panes between the current pane and the window's last pane

  // Returns the number of panes from the window's first pane to the current pane.
  int64_t Reach() const { return count + delay; }
  friend bool operator==(const WindowPanes&, const WindowPanes&) = default;
};

struct WindowShape {
  PaneGrid grid;
  WindowPanes panes;
};

// Returns the shape of a demand's window. demand.interval > 0. `origin`: reference for demands with
// align_job.
inline WindowShape ShapeOf(const Demand& demand, Position origin) {
  const bool ranged = demand.kind == WindowKind::kTime;
  const Position tick = demand.align_job ? origin : Position();  // a reference tick
  const Position end = tick - Duration::Nanos(demand.offset);
  const Duration range = Duration::Nanos(demand.range);
  WindowShape shape;
  PaneGrid& grid = shape.grid;
  grid.length = Duration::Nanos(demand.interval);
  grid.phase = FloorMod(end - Position(), grid.length);
  if (ranged) grid.cut = FloorMod(-range, grid.length);
  const PaneIndex last = grid.IndexOf(end);
  if (ranged) shape.panes.count = last - grid.IndexOf(end - range);
  shape.panes.delay = grid.IndexOf(tick) - last;
  return shape;
}

}  // namespace pitwall
