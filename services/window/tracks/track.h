// The samples of one selector on one pane grid, and the windows over them. All demands with the
// same selector, grid, and age share a track, so a sample is stored once for all of them.
//
// Samples arrive in order of position per column. The pane with the newest position is open
// (OpenPane). The panes before it are closed and kept while a window needs them (ClosedPanes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/panes/track_panes.h"
#include "services/window/tracks/track_windows.h"

namespace pitwall::window {

// Not thread-safe. Has the same columns as the selector; the owner sets their number.
class Track {
 public:
  // If `with_stale` is set, stale markers are samples (instant selectors with an offset); otherwise
  // they never arrive. If `packed_limit` is not 0, the track serves long windows: older panes are
  // packed into at most that many bytes, and above this limit, the oldest are dropped. Not
  // supported for kOrdered.
  Track(PaneGrid grid, bool with_stale, size_t packed_limit);

  bool with_stale() const { return with_stale_; }

  // ---- Windows. Adds a window and returns its index. Equal windows share an index; new windows
  // may be added only before the first sample. All ordered windows must have the same max_ordered.
  size_t AddWindow(Family family, const WindowPanes& panes, uint32_t max_ordered);
  // Sets the phase. Call this before the first sample.
  void set_phase(Duration phase) { grid_.phase = phase; }
  // Drops windows whose index is not in `used`. The other windows keep their order. May be called
  // at any time.
  void RetainWindows(const std::vector<bool>& used);

  // ---- Samples. Sets the number of columns, which only Remap can reduce.
  void SetColumns(size_t columns) {
    if (columns > panes_.columns()) AddColumns(columns);
  }
  // Closes every pane that ends before `position`. Positions must not decrease.
  void Advance(Position position) {
    // This check avoids a division per row.
    if (!started_ || position > grid_.EndOf(panes_.open_index())) AdvanceTo(position);
  }
  // Adds samples at `position`: values[cells[i]] belongs to column columns[i], and MissingValue()
  // is skipped. Call Advance(position) first. The columns must not have a sample at this position
  // yet. `huge` must be set if any value exceeds kHuge.
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values, bool huge) {
    panes_.Scatter(position, cells, columns, values, huge);
  }

  // ---- Reads return the state as of the last Advance. Its position must have been the end of a
  // pane plus the window's offset. A read returns false and has no values if samples in the window
  // were dropped because of packed_limit.
  bool Read(size_t window, const WindowQuery& query, double* values, uint8_t* present);
  bool AnyOverflow(size_t window) const { return windows_.AnyOverflow(window); }
  // Returns whether the open pane contains `position` or no sample has arrived yet.
  bool IsAt(Position position) const {
    return !started_ || panes_.open_index() == grid_.IndexOf(position);
  }

  // ---- Columns. Reorders the columns: column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  // Resets the track but keeps its windows and columns.
  void Reset();

  void Save(BinaryWriter& out) const;
  // Restores at most `columns` columns into a new track that has the same windows.
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  void AddColumns(size_t columns);
  void AdvanceTo(Position position);

  PaneGrid grid_;
  bool with_stale_;
  bool started_ = false;
  uint32_t max_ordered_ = 0;
  TrackPanes panes_;  // must outlive the windows' rows, so it is declared first
  TrackWindows windows_;
};

}  // namespace pitwall::window
