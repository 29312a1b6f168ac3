// The samples of one selector on one pane grid, and the windows over them. All demands that agree
// in selector, grid and age share a track: a sample is stored once for all of them.
//
// Samples come in order of position per column. The pane that holds the newest position is open
// (OpenPane); the panes before it are closed and kept as long as a window needs them (ClosedPanes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/panes/track_panes.h"
#include "services/window/tracks/track_windows.h"

namespace pitwall::window {

// Not thread-safe. Columns are those of the selector; the owner gives their number.
class Track {
 public:
  // with_stale: stale markers are samples here (instant selectors with an offset); elsewhere they
  // never arrive.
  // packed_limit: 0, or the track is one of windows of many panes: older ones are packed, into at
  // most so many bytes, beyond which the oldest are dropped. Not for kOrdered.
  Track(PaneGrid grid, bool with_stale, size_t packed_limit);

  bool with_stale() const { return with_stale_; }

  // ---- Windows.
  // The window's index. Equal windows are one; others only before the first sample. `panes` and
  // `delay` as in WindowShape. All ordered windows have the same max_ordered.
  size_t AddWindow(Family family, int64_t panes, int64_t delay, uint32_t max_ordered);
  // Before the first sample.
  void set_phase(int64_t phase) { grid_.phase = phase; }
  // Drops windows whose index is not in `used`; windows keep their order. Any time.
  void RetainWindows(const std::vector<bool>& used);

  // ---- Samples.
  // The number of columns never falls, except by Remap.
  void SetColumns(size_t columns) {
    if (columns > panes_.columns()) AddColumns(columns);
  }
  // Closes every pane that ends before `position`. Never goes back.
  void Advance(int64_t position) {
    // Without a division, once a row.
    if (!started_ || position > grid_.EndOf(panes_.open_index())) AdvanceTo(position);
  }
  // values[cells[i]] at `position` belongs to column columns[i]; MissingValue() is skipped.
  // Advance(position) first. No column has had a sample at this position. `huge`: some value is
  // beyond kHuge.
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values, bool huge) {
    panes_.Scatter(position, cells, columns, values, huge);
  }

  // ---- Reads, as of the last Advance, whose position must have been the end of a pane plus the
  // windows' offset.
  // False, with nothing present, if samples of the window were dropped for packed_limit.
  bool Read(size_t window, const WindowQuery& query, double* values, uint8_t* present);
  bool AnyOverflow(size_t window) const { return windows_.AnyOverflow(window); }
  // Whether the open pane is that of `position`, or no sample came yet.
  bool IsAt(int64_t position) const {
    return !started_ || panes_.open_index() == grid_.IndexOf(position);
  }

  // ---- Columns.
  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  void ClearColumns(const std::vector<uint32_t>& columns);
  // As new, with the same windows and columns.
  void Reset();

  void Save(BinaryWriter& out) const;
  // Restores at most `columns` columns into a track as new, with the same windows.
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  void AddColumns(size_t columns);
  void AdvanceTo(int64_t position);

  PaneGrid grid_;
  bool with_stale_;
  bool started_ = false;
  uint32_t max_ordered_ = 0;
  TrackPanes panes_;  // outlives the rows of the windows: declared before them
  TrackWindows windows_;
};

}  // namespace pitwall::window
