// All windows of a store. Demands with the same selector, grid, and age share a window.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/selector_windows.h"
#include "services/window/store/series_store.h"
#include "services/window/tracks/series_track.h"
#include "services/window/tracks/sketch_window.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

// Key of a track. Demands with equal keys share the track.
struct TrackKey {
  uint32_t selector;
  Duration length;
  Duration cut;
  Duration phase_offset;  // -offset mod length, which is the phase without the origin
  bool align_job;
  bool with_stale;
  bool packed;   // whether the window is long
  bool attempt;  // whether each attempt restarts the window
  uint32_t epoch;
  friend auto operator<=>(const TrackKey&, const TrackKey&) = default;
};

enum class SeriesTrackKind : uint8_t { kSamples, kStates, kFirst };

// Key of a series track. Demands with equal keys share the track.
struct SeriesTrackKey {
  uint32_t selector;
  SeriesTrackKind kind;
  int64_t length;  // kStates: maximum duration of a sample's state; kFirst: number of samples;
                   // otherwise 0
  int64_t skip;    // for kFirst
  bool attempt;    // whether each attempt restarts the window
  uint32_t epoch;
  friend auto operator<=>(const SeriesTrackKey&, const SeriesTrackKey&) = default;
};

// Window of one demand. At most one of the three pointers is set. If none is set, the demand is
// served from the last samples or was rejected.
struct WindowRef {
  Track* track = nullptr;
  size_t window = 0;  // index of the window in the track
  SeriesTrack* by_series = nullptr;
  SketchWindow* sketch = nullptr;
};

// Not thread-safe.
class WindowSet {
 public:
  // Uses the limit max_window_bytes.
  explicit WindowSet(const Limits& limits) : max_window_bytes_(limits.max_window_bytes) {}

  // Returns the new or shared state for the key. Samples at or before `since` do not belong to the
  // window. Call Bind after all states have been created.
  Track* TrackFor(const TrackKey& key, Position origin);
  SketchWindow* SketchFor(const TrackKey& key, const WindowShape& shape);
  SeriesTrack* SeriesTrackFor(const SeriesTrackKey& key, Position since);
  // Assigns the windows to their selectors. `selectors` is the number of selectors.
  void Bind(uint32_t selectors);
  // Keeps only the windows that `used` references, in that order. `moved_to` contains the new
  // numbers of the selectors.
  void Retain(const std::vector<WindowRef>& used, const std::vector<uint32_t>& moved_to);
  void Clear();

  SelectorWindows& of(uint32_t selector) { return by_selector_[selector]; }
  bool HasAny(uint32_t selector) const { return !by_selector_[selector].empty(); }

  // Sets the origin. Call this before the first sample.
  void SetOrigin(Position origin);
  // Completes the panes up to `upto`. Every sample up to this position must have been added.
  void Advance(Position upto, const SelectorColumns& columns);
  // Restarts the attempt windows. Samples after `after` belong to the new attempt.
  void BeginAttempt(Position after);
  // Resets the windows to their initial state.
  void Reset();

  void Save(BinaryWriter& out) const;
  // Loads the state into newly created windows with the same keys. `sealed` is the store's sealed
  // position.
  void Load(BinaryReader& in, const SelectorColumns& columns, Position sealed);
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
  // A sketch shared by all quantile demands with the same window and age.
  struct SketchState {
    TrackKey key;
    WindowPanes panes;
    std::unique_ptr<SketchWindow> window;
  };

  void RetainTracks(const std::vector<WindowRef>& used, const std::vector<uint32_t>& moved_to);
  void LoadTracks(BinaryReader& in, const SelectorColumns& columns, Position sealed);
  void LoadSeriesTracks(BinaryReader& in, const SelectorColumns& columns);
  void LoadSketches(BinaryReader& in, const SelectorColumns& columns);

  const size_t max_window_bytes_;
  std::vector<TrackState> tracks_;  // in order of each track's first demand
  std::vector<SeriesTrackState> series_tracks_;
  std::vector<SketchState> sketches_;
  std::vector<SelectorWindows> by_selector_;
};

}  // namespace pitwall::window
