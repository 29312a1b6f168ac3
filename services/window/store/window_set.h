// All windows of a store. Demands that agree in selector, grid and age share one.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/selector_windows.h"
#include "services/window/store/series_store.h"
#include "services/window/tracks/series_track.h"
#include "services/window/tracks/sketch_window.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

// Demands that agree in this share a track.
struct TrackKey {
  uint32_t selector;
  int64_t length;
  int64_t cut;
  int64_t phase_offset;  // -offset mod length: the phase but for the origin
  bool align_job;
  bool with_stale;
  bool packed;   // of a long window
  bool attempt;  // starts again with each attempt
  uint32_t epoch;
  friend auto operator<=>(const TrackKey&, const TrackKey&) = default;
};

enum class SeriesTrackKind : uint8_t { kSamples, kStates, kFirst };

// Demands that agree in this share a track by series.
struct SeriesTrackKey {
  uint32_t selector;
  SeriesTrackKind kind;
  int64_t length;  // kStates: how long a sample holds; kFirst: samples; else 0
  int64_t skip;    // kFirst
  bool attempt;    // starts again with each attempt
  uint32_t epoch;
  friend auto operator<=>(const SeriesTrackKey&, const SeriesTrackKey&) = default;
};

// The window of one demand: at most one of the three. None: the demand is answered from the last
// samples, or refused.
struct WindowRef {
  Track* track = nullptr;
  size_t window = 0;  // of the track
  SeriesTrack* by_series = nullptr;
  SketchWindow* sketch = nullptr;
};

// Not thread-safe.
class WindowSet {
 public:
  // max_window_bytes applies.
  explicit WindowSet(const Limits& limits) : max_window_bytes_(limits.max_window_bytes) {}

  // The state of this key, new or shared. `since`: samples at or before it are not the window's.
  // Bind once all are there.
  Track* TrackFor(const TrackKey& key, int64_t origin);
  SketchWindow* SketchFor(const TrackKey& key, const WindowShape& shape);
  SeriesTrack* SeriesTrackFor(const SeriesTrackKey& key, int64_t since);
  // Finds the windows of each selector; `selectors`: their number.
  void Bind(uint32_t selectors);
  // Keeps what these demands read, in their order. `moved_to`: new numbers of the selectors.
  void Retain(const std::vector<WindowRef>& used, const std::vector<uint32_t>& moved_to);
  void Clear();

  SelectorWindows& of(uint32_t selector) { return by_selector_[selector]; }
  bool HasAny(uint32_t selector) const { return !by_selector_[selector].empty(); }

  // Before the first sample.
  void SetOrigin(int64_t origin);
  // Every sample up to this position was fed.
  void Advance(int64_t upto, const SelectorColumns& columns);
  // Begins the windows of attempts again: samples after `after` are the new attempt's.
  void BeginAttempt(int64_t after);
  // As new.
  void Reset();

  void Save(BinaryWriter& out) const;
  // Into windows as new, of the same keys. `sealed`: where the store is.
  void Load(BinaryReader& in, const SelectorColumns& columns, int64_t sealed);
  size_t MemoryBytes() const;

 private:
  struct TrackState {
    TrackKey key;
    std::unique_ptr<Track> track;
  };
  struct SeriesTrackState {
    SeriesTrackKey key;
    std::unique_ptr<SeriesTrack> track;
  };
  // All demands for quantiles of one sketched window, of one age.
  struct SketchState {
    TrackKey key;
    int64_t panes;
    int64_t delay;
    std::unique_ptr<SketchWindow> window;
  };

  void RetainTracks(const std::vector<WindowRef>& used, const std::vector<uint32_t>& moved_to);
  void LoadTracks(BinaryReader& in, const SelectorColumns& columns, int64_t sealed);
  void LoadSeriesTracks(BinaryReader& in, const SelectorColumns& columns);
  void LoadSketches(BinaryReader& in, const SelectorColumns& columns);

  const size_t max_window_bytes_;
  std::vector<TrackState> tracks_;  // in the order of the first demand of each
  std::vector<SeriesTrackState> series_tracks_;
  std::vector<SketchState> sketches_;
  std::vector<SelectorWindows> by_selector_;
};

}  // namespace pitwall::window
