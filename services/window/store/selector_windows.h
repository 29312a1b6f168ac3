// The windows that use the samples of one selector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/time.h"
#include "services/window/tracks/series_track.h"
#include "services/window/tracks/sketch_window.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

// Samples in one row that match a selector.
struct SelectorRow {
  Position position;
  // The sample values[cells[i]] belongs to the column columns[i].
  std::span<const uint32_t> cells;
  std::span<const uint32_t> columns;
  const double* values;
  const double* without_stale;  // values in which stale markers are missing values; null if all
                                // values are stale markers
  bool huge;                    // whether any value exceeds kHuge
};

// Windows over one selector. `size` is the selector's current number of columns. Not thread-safe.
class SelectorWindows {
 public:
  void Add(Track* track) { tracks_.push_back(track); }
  void Add(SeriesTrack* track) { series_tracks_.push_back(track); }
  void Add(SketchWindow* sketch) { sketches_.push_back(sketch); }
  bool empty() const { return tracks_.empty() && series_tracks_.empty() && sketches_.empty(); }

  void Feed(size_t size, const SelectorRow& row);
  // Reorders the columns: column i of the result was column keep[i]. `size` is the previous number
  // of columns.
  void Remap(size_t size, const std::vector<uint32_t>& keep);

 private:
  std::vector<Track*> tracks_;
  std::vector<SeriesTrack*> series_tracks_;
  std::vector<SketchWindow*> sketches_;
};

}  // namespace pitwall::window
