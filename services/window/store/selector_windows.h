// The windows that the samples of one selector feed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/window/tracks/series_track.h"
#include "services/window/tracks/sketch_window.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

// One row's samples of a selector.
struct SelectorRow {
  int64_t position;
  // values[cells[i]] belongs to column columns[i].
  std::span<const uint32_t> cells;
  std::span<const uint32_t> columns;
  const double* values;
  const double* without_stale;  // stale markers missing; null if all samples are
  bool huge;                    // some value is beyond kHuge
};

// Not thread-safe. `size`: the number of the selector's columns now.
class SelectorWindows {
 public:
  void Add(Track* track) { tracks_.push_back(track); }
  void Add(SeriesTrack* track) { series_tracks_.push_back(track); }
  void Add(SketchWindow* sketch) { sketches_.push_back(sketch); }
  bool empty() const { return tracks_.empty() && series_tracks_.empty() && sketches_.empty(); }

  void Feed(size_t size, const SelectorRow& row);
  // Column i of the result was column keep[i]; `size`: before.
  void Remap(size_t size, const std::vector<uint32_t>& keep);
  void ClearColumns(size_t size, const std::vector<uint32_t>& columns);

 private:
  std::vector<Track*> tracks_;
  std::vector<SeriesTrack*> series_tracks_;
  std::vector<SketchWindow*> sketches_;
};

}  // namespace pitwall::window
