#include "services/window/store/selector_windows.h"

namespace pitwall::window {

void SelectorWindows::Feed(size_t size, const SelectorRow& row) {
  for (Track* track : tracks_) {
    if (row.without_stale == nullptr && !track->with_stale()) continue;
    track->SetColumns(size);
    track->Advance(row.position);
    track->Scatter(row.position, row.cells, row.columns,
                   track->with_stale() ? row.values : row.without_stale, row.huge);
  }
  for (SeriesTrack* track : series_tracks_) {
    track->SetColumns(size);
    track->Scatter(row.position, row.cells, row.columns, row.values);
  }
  for (SketchWindow* sketch : sketches_) {
    if (row.without_stale == nullptr) continue;
    sketch->SetColumns(size);
    sketch->Scatter(row.position, row.cells, row.columns, row.without_stale);
  }
}

void SelectorWindows::Remap(size_t size, const std::vector<uint32_t>& keep) {
  const auto remap = [&](auto* windows) {
    windows->SetColumns(size);
    windows->Remap(keep);
  };
  for (Track* track : tracks_) remap(track);
  for (SeriesTrack* track : series_tracks_) remap(track);
  for (SketchWindow* sketch : sketches_) remap(sketch);
}

}  // namespace pitwall::window
