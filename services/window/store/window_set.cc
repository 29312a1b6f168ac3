#include "services/window/store/window_set.h"

#include <algorithm>
#include <utility>

#include "services/window/tracks/prefix_track.h"
#include "services/window/tracks/sample_track.h"
#include "services/window/tracks/state_track.h"

namespace pitwall::window {
namespace {

Duration PhaseOf(const TrackKey& key, Position origin) {
  const Duration phase = key.align_job ? origin - Position() : Duration();
  return FloorMod(phase + key.phase_offset, key.length);
}

void SaveKey(BinaryWriter& out, const TrackKey& key) {
  out.U64(key.selector);
  out.I64(key.length.ns());
  out.I64(key.cut.ns());
  out.I64(key.phase_offset.ns());
  out.Bool(key.align_job);
  out.Bool(key.with_stale);
  out.Bool(key.packed);
  out.Bool(key.attempt);
  out.U64(key.epoch);
}

TrackKey LoadKey(BinaryReader& in) {
  TrackKey key;
  key.selector = static_cast<uint32_t>(in.U64());
  key.length = Duration::Nanos(in.I64());
  key.cut = Duration::Nanos(in.I64());
  key.phase_offset = Duration::Nanos(in.I64());
  key.align_job = in.Bool();
  key.with_stale = in.Bool();
  key.packed = in.Bool();
  key.attempt = in.Bool();
  key.epoch = static_cast<uint32_t>(in.U64());
  return key;
}

void SaveKey(BinaryWriter& out, const SeriesTrackKey& key) {
  out.U64(key.selector);
  out.U8(static_cast<uint8_t>(key.kind));
  out.I64(key.length);
  out.I64(key.skip);
  out.Bool(key.attempt);
  out.U64(key.epoch);
}

SeriesTrackKey LoadSeriesTrackKey(BinaryReader& in) {
  SeriesTrackKey key{};
  key.selector = static_cast<uint32_t>(in.U64());
  key.kind = static_cast<SeriesTrackKind>(in.U8());
  key.length = in.I64();
  key.skip = in.I64();
  key.attempt = in.Bool();
  key.epoch = static_cast<uint32_t>(in.U64());
  return key;
}

}  // namespace

Track* WindowSet::TrackFor(const TrackKey& key, Position origin) {
  for (TrackState& state : tracks_) {
    if (state.key == key) return state.track.get();
  }
  const PaneGrid grid{key.length, PhaseOf(key, origin), key.cut};
  tracks_.push_back(
      {key, std::make_unique<Track>(grid, key.with_stale, key.packed ? max_window_bytes_ : 0)});
  return tracks_.back().track.get();
}

SketchWindow* WindowSet::SketchFor(const TrackKey& key, const WindowShape& shape) {
  for (SketchState& sketch : sketches_) {
    if (sketch.key == key && sketch.panes == shape.panes) return sketch.window.get();
  }
  sketches_.push_back(
      {key, shape.panes, std::make_unique<SketchWindow>(shape, SeriesStore::kMaxSketchSamples)});
  return sketches_.back().window.get();
}

SeriesTrack* WindowSet::SeriesTrackFor(const SeriesTrackKey& key, Position since) {
  for (SeriesTrackState& state : series_tracks_) {
    if (state.key == key) return state.track.get();
  }
  std::unique_ptr<SeriesTrack> track;
  switch (key.kind) {
    case SeriesTrackKind::kSamples:
      track = std::make_unique<SampleTrack>(SeriesStore::kMaxOrderedSamples);
      break;
    case SeriesTrackKind::kStates:
      track = std::make_unique<StateTrack>(Duration::Nanos(key.length), since,
                                           SeriesStore::kMaxOrderedSamples);
      break;
    case SeriesTrackKind::kFirst:
      track = std::make_unique<PrefixTrack>(static_cast<uint32_t>(key.length), key.skip, since);
      break;
  }
  series_tracks_.push_back({key, std::move(track)});
  return series_tracks_.back().track.get();
}

void WindowSet::Bind(uint32_t selectors) {
  by_selector_.assign(selectors, SelectorWindows());
  for (TrackState& state : tracks_) by_selector_[state.key.selector].Add(state.track.get());
  for (SeriesTrackState& state : series_tracks_)
    by_selector_[state.key.selector].Add(state.track.get());
  for (SketchState& sketch : sketches_) by_selector_[sketch.key.selector].Add(sketch.window.get());
}

void WindowSet::RetainTracks(const std::vector<WindowRef>& used,
                             const std::vector<uint32_t>& moved_to) {
  std::vector<TrackState> before = std::exchange(tracks_, {});
  for (const WindowRef& first : used) {
    if (first.track == nullptr) continue;
    const auto state = std::find_if(before.begin(), before.end(), [&](const TrackState& one) {
      return one.track.get() == first.track;
    });
    if (state == before.end()) continue;  // the track was already moved for an earlier demand
    std::vector<bool> windows;
    for (const WindowRef& ref : used) {
      if (ref.track != first.track) continue;
      if (windows.size() <= ref.window) windows.resize(ref.window + 1, false);
      windows[ref.window] = true;
    }
    state->track->RetainWindows(windows);
    state->key.selector = moved_to[state->key.selector];
    tracks_.push_back(std::move(*state));
  }
}

void WindowSet::Retain(const std::vector<WindowRef>& used, const std::vector<uint32_t>& moved_to) {
  by_selector_.clear();
  RetainTracks(used, moved_to);
  const auto reads = [&](const auto& test) { return std::any_of(used.begin(), used.end(), test); };
  std::erase_if(series_tracks_, [&](const SeriesTrackState& state) {
    return !reads([&](const WindowRef& ref) { return ref.by_series == state.track.get(); });
  });
  for (SeriesTrackState& state : series_tracks_) {
    state.key.selector = moved_to[state.key.selector];
    state.track->ForgetDemands();
  }
  std::erase_if(sketches_, [&](const SketchState& sketch) {
    return !reads([&](const WindowRef& ref) { return ref.sketch == sketch.window.get(); });
  });
  for (SketchState& sketch : sketches_) sketch.key.selector = moved_to[sketch.key.selector];
}

void WindowSet::Clear() {
  by_selector_.clear();
  tracks_.clear();
  series_tracks_.clear();
  sketches_.clear();
}

void WindowSet::SetOrigin(Position origin) {
  for (TrackState& state : tracks_) state.track->set_phase(PhaseOf(state.key, origin));
  for (SketchState& sketch : sketches_) sketch.window->set_phase(PhaseOf(sketch.key, origin));
}

void WindowSet::Advance(Position upto, const SelectorColumns& columns) {
  for (TrackState& state : tracks_) {
    state.track->SetColumns(columns.members(state.key.selector).size());
    state.track->Advance(upto);
  }
}

void WindowSet::BeginAttempt(Position after) {
  for (TrackState& state : tracks_) {
    if (state.key.attempt) state.track->Reset();
  }
  for (SeriesTrackState& state : series_tracks_) {
    if (state.key.attempt) state.track->Restart(after);
  }
  for (SketchState& sketch : sketches_) {
    if (sketch.key.attempt) sketch.window->Reset();
  }
}

void WindowSet::Reset() {
  for (TrackState& state : tracks_) state.track->Reset();
  for (SeriesTrackState& state : series_tracks_) state.track->Restart(Position::Earliest());
  for (SketchState& sketch : sketches_) sketch.window->Reset();
}

void WindowSet::Save(BinaryWriter& out) const {
  out.U64(tracks_.size());
  for (const TrackState& state : tracks_) {
    SaveKey(out, state.key);
    state.track->Save(out);
  }
  out.U64(series_tracks_.size());
  for (const SeriesTrackState& state : series_tracks_) {
    SaveKey(out, state.key);
    state.track->Save(out);
  }
  out.U64(sketches_.size());
  for (const SketchState& sketch : sketches_) {
    SaveKey(out, sketch.key);
    out.I64(sketch.panes.count);
    out.I64(sketch.panes.delay);
    sketch.window->Save(out);
  }
}

void WindowSet::Load(BinaryReader& in, const SelectorColumns& columns, Position sealed) {
  LoadTracks(in, columns, sealed);
  LoadSeriesTracks(in, columns);
  LoadSketches(in, columns);
}

void WindowSet::LoadTracks(BinaryReader& in, const SelectorColumns& columns, Position sealed) {
  if (in.U64() != tracks_.size()) in.Fail();
  std::vector<bool> loaded(tracks_.size(), false);
  for (size_t k = 0; k < tracks_.size() && in.ok(); ++k) {
    const TrackKey key = LoadKey(in);
    const auto it = std::find_if(tracks_.begin(), tracks_.end(),
                                 [&](const TrackState& state) { return state.key == key; });
    const auto index = static_cast<size_t>(it - tracks_.begin());
    if (it == tracks_.end() || loaded[index]) {
      in.Fail();
      return;
    }
    loaded[index] = true;
    it->track->Load(in, columns.members(key.selector).size());
    if (!it->track->IsAt(sealed)) in.Fail();
  }
}

void WindowSet::LoadSeriesTracks(BinaryReader& in, const SelectorColumns& columns) {
  if (in.U64() != series_tracks_.size()) in.Fail();
  for (size_t k = 0; k < series_tracks_.size() && in.ok(); ++k) {
    const SeriesTrackKey key = LoadSeriesTrackKey(in);
    const auto it = std::find_if(series_tracks_.begin(), series_tracks_.end(),
                                 [&](const SeriesTrackState& state) { return state.key == key; });
    if (it == series_tracks_.end()) {
      in.Fail();
      return;
    }
    it->track->Load(in, columns.members(key.selector).size());
  }
}

void WindowSet::LoadSketches(BinaryReader& in, const SelectorColumns& columns) {
  if (in.U64() != sketches_.size()) in.Fail();
  for (size_t k = 0; k < sketches_.size() && in.ok(); ++k) {
    const TrackKey key = LoadKey(in);
    WindowPanes panes;
    panes.count = in.I64();
    panes.delay = in.I64();
    const auto it = std::find_if(sketches_.begin(), sketches_.end(), [&](const SketchState& one) {
      return one.key == key && one.panes == panes;
    });
    if (it == sketches_.end()) {
      in.Fail();
      return;
    }
    it->window->Load(in, columns.members(key.selector).size());
  }
}

size_t WindowSet::MemoryBytes() const {
  size_t bytes = 0;
  for (const TrackState& state : tracks_) bytes += state.track->MemoryBytes();
  for (const SeriesTrackState& state : series_tracks_) bytes += state.track->MemoryBytes();
  for (const SketchState& sketch : sketches_) bytes += sketch.window->MemoryBytes();
  return bytes;
}

}  // namespace pitwall::window
