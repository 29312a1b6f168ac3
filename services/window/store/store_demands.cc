// Demands of the store: which window serves which, what a read gives, and what a new rule set
// keeps.
#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/model/value.h"
#include "services/window/store/store_state.h"
#include "services/window/tracks/prefix_track.h"
#include "services/window/tracks/sample_track.h"
#include "services/window/tracks/state_track.h"

namespace pitwall::window {

namespace {

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool GoesBySeries(const Demand& demand, const FunctionPlan& plan) {
  return demand.kind == WindowKind::kSamples || demand.kind == WindowKind::kFirst ||
         plan.family == Family::kSamples || plan.family == Family::kStates;
}

SeriesTrackKey KeyOf(const Demand& demand, const FunctionPlan& plan, uint32_t epoch) {
  const bool attempt = demand.kind == WindowKind::kAttempt;
  if (demand.kind == WindowKind::kFirst) {
    return {demand.selector, SeriesTrackKind::kFirst, demand.range, demand.skip, true, epoch};
  }
  if (plan.family == Family::kStates)
    return {demand.selector, SeriesTrackKind::kStates, demand.lookback, 0, attempt, epoch};
  return {demand.selector, SeriesTrackKind::kSamples, 0, 0, false, epoch};
}

}  // namespace

Status SeriesStore::Validate(const Demand& demand) {
  const std::optional<FunctionPlan> plan = PlanOf(demand.kind, demand.function);
  if (!plan.has_value()) {
    return InvalidArgument("this function does not go with this kind of window");
  }
  const bool states = plan->family == Family::kStates;
  if (demand.kind == WindowKind::kAttempt && plan->finish == nullptr && !states &&
      plan->family != Family::kSketch) {
    return InvalidArgument("this function needs every sample of its window: not [attempt]");
  }
  if (demand.offset < 0) return InvalidArgument(Cat("offset ", demand.offset, " is negative"));
  const bool instant = demand.kind == WindowKind::kInstant;
  if (demand.interval <= 0 && (!instant || demand.offset > 0)) {
    return InvalidArgument(Cat("interval ", demand.interval, " is not positive"));
  }
  if ((instant || states || demand.kind == WindowKind::kSamples) && demand.lookback <= 0) {
    return InvalidArgument(Cat("look-back ", demand.lookback, " is not positive"));
  }
  if (!instant && demand.kind != WindowKind::kAttempt && demand.range <= 0)
    return InvalidArgument(Cat("range ", demand.range, " is not positive"));
  if (demand.kind == WindowKind::kSamples && demand.range > kMaxOrderedSamples) {
    return ResourceExhausted(
        Cat("a window of ", demand.range, " samples: the limit is ", kMaxOrderedSamples));
  }
  if (demand.kind == WindowKind::kFirst && demand.range > kMaxFirstSamples) {
    return ResourceExhausted(
        Cat("a window of the first ", demand.range, " samples: the limit is ", kMaxFirstSamples));
  }
  if (demand.skip < 0) return InvalidArgument(Cat("skip ", demand.skip, " is negative"));
  if (std::max({demand.range, demand.offset, demand.lookback, demand.interval}) >
      kMaxPosition / 4) {
    return InvalidArgument("range, offset, look-back or interval is too long");
  }
  if (instant && demand.offset == 0) return OkStatus();
  if (GoesBySeries(demand, *plan)) return OkStatus();
  const WindowShape shape = ShapeOf(demand, 0);
  const int64_t most = plan->family == Family::kOrdered ? kMaxOrderedSamples : kMaxPanes;
  if (shape.panes + shape.delay > most) {
    return ResourceExhausted(Cat("the window and its offset span ", shape.panes + shape.delay,
                                 " panes, the limit is ", most,
                                 ": the interval should be longer, or the window shorter"));
  }
  return OkStatus();
}

Track* SeriesStore::State::TrackFor(const TrackKey& key) {
  for (TrackState& track : tracks) {
    if (track.key == key) return track.track.get();
  }
  const int64_t base = key.align_job ? origin : 0;
  const PaneGrid grid{key.length, FloorMod(base + key.phase_offset, key.length), key.cut};
  tracks.push_back({key, std::make_unique<Track>(grid, key.with_stale,
                                                 key.packed ? limits.max_window_bytes : 0)});
  Track* track = tracks.back().track.get();
  return track;
}

SketchWindow* SeriesStore::State::SketchFor(const TrackKey& key, const WindowShape& shape) {
  for (SketchState& sketch : sketches) {
    if (sketch.key == key && sketch.panes == shape.panes && sketch.delay == shape.delay)
      return sketch.window.get();
  }
  sketches.push_back(
      {key, shape.panes, shape.delay,
       std::make_unique<SketchWindow>(shape.grid, shape.panes, shape.delay, kMaxSketchSamples)});
  return sketches.back().window.get();
}

SeriesTrack* SeriesStore::State::SeriesTrackFor(const SeriesTrackKey& key, int64_t since) {
  for (SeriesTrackState& track : series_tracks) {
    if (track.key == key) return track.track.get();
  }
  std::unique_ptr<SeriesTrack> track;
  switch (key.kind) {
    case SeriesTrackKind::kSamples:
      track = std::make_unique<SampleTrack>(kMaxOrderedSamples);
      break;
    case SeriesTrackKind::kStates:
      track = std::make_unique<StateTrack>(key.length, since, kMaxOrderedSamples);
      break;
    case SeriesTrackKind::kFirst:
      track = std::make_unique<PrefixTrack>(static_cast<uint32_t>(key.length), key.skip, since);
      break;
  }
  series_tracks.push_back({key, std::move(track)});
  return series_tracks.back().track.get();
}

// Fills demand_states for `demands`. carried[d] is the state of the demand's equal in the set
// before, its track already in `tracks`, or nullptr; with an empty vector nothing is carried. New
// ones belong to the current epoch.
void SeriesStore::State::AddDemands(const std::vector<DemandState*>& carried) {
  std::vector<DemandState> states(demands->demands.size());
  for (size_t d = 0; d < states.size(); ++d) {
    const Demand& demand = demands->demands[d];
    DemandState& state = states[d];
    DemandState* before = d < carried.size() ? carried[d] : nullptr;
    state.epoch = before != nullptr ? before->epoch : epoch;
    state.since = before != nullptr ? before->since : (epoch == 0 ? kMinPosition : sealed);
    state.status = demand.selector < demands->selectors.size()
                       ? Validate(demand)
                       : InvalidArgument(Cat("demand ", d, ": unknown selector ", demand.selector));
    if (!state.status.ok()) continue;
    state.plan = PlanOf(demand.kind, demand.function);
    if (demand.kind == WindowKind::kInstant && demand.offset == 0) continue;
    if (GoesBySeries(demand, *state.plan)) {
      state.by_series = SeriesTrackFor(KeyOf(demand, *state.plan, state.epoch), state.since);
      state.by_series->AddDemand(demand);
      continue;
    }
    const WindowShape shape = ShapeOf(demand, origin);
    const bool latest = state.plan->family == Family::kLatest;
    const bool partials = state.plan->finish != nullptr;
    const TrackKey key{demand.selector,
                       shape.grid.length,
                       shape.grid.cut,
                       FloorMod(-demand.offset, shape.grid.length),
                       demand.align_job,
                       latest,
                       partials && shape.panes + shape.delay > int64_t{limits.long_panes},
                       demand.kind == WindowKind::kAttempt,
                       state.epoch};
    if (state.plan->family == Family::kSketch) {
      state.sketch = SketchFor(key, shape);
      continue;
    }
    state.track = TrackFor(key);
    state.window =
        state.track->AddWindow(state.plan->family, shape.panes, shape.delay, kMaxOrderedSamples);
  }
  demand_states = std::move(states);
  for (SelectorState& selector : selectors) {
    selector.tracks.clear();
    selector.series_tracks.clear();
    selector.sketches.clear();
  }
  for (TrackState& track : tracks)
    selectors[track.key.selector].tracks.push_back(track.track.get());
  for (SeriesTrackState& track : series_tracks)
    selectors[track.key.selector].series_tracks.push_back(track.track.get());
  for (SketchState& sketch : sketches)
    selectors[sketch.key.selector].sketches.push_back(sketch.window.get());
}

void SeriesStore::State::Replace(std::shared_ptr<const DemandSet> next) {
  std::vector<std::string> old_selector_keys, new_selector_keys;
  for (const Selector& s : demands->selectors) old_selector_keys.push_back(s.Key());
  for (const Selector& s : next->selectors) new_selector_keys.push_back(s.Key());

  // Selectors with equal keys keep their columns; others find theirs among the series known.
  StringMap<uint32_t> new_index;
  for (uint32_t s = 0; s < new_selector_keys.size(); ++s)
    new_index.emplace(new_selector_keys[s], s);
  std::vector<SelectorState> old_selectors = std::move(selectors);
  std::vector<uint32_t> moved_to(old_selectors.size(), UINT32_MAX);
  selectors.assign(next->selectors.size(), SelectorState());
  std::vector<bool> kept(next->selectors.size(), false);
  for (uint32_t s = 0; s < old_selectors.size(); ++s) {
    const auto it = new_index.find(old_selector_keys[s]);
    if (it == new_index.end() || kept[it->second]) continue;
    moved_to[s] = it->second;
    kept[it->second] = true;
    selectors[it->second] = std::move(old_selectors[s]);
    selectors[it->second].tracks.clear();
    selectors[it->second].series_tracks.clear();
    selectors[it->second].sketches.clear();
  }

  // Demands with equal keys.
  StringMap<uint32_t> old_demands;
  for (uint32_t d = 0; d < demands->demands.size(); ++d) {
    const Demand& demand = demands->demands[d];
    if (!demand_states[d].status.ok()) continue;
    old_demands.emplace(demand.Key(demands->selectors[demand.selector]), d);
  }
  std::vector<DemandState*> carried(next->demands.size(), nullptr);
  for (size_t d = 0; d < next->demands.size(); ++d) {
    const Demand& demand = next->demands[d];
    if (demand.selector >= next->selectors.size()) continue;
    const auto it = old_demands.find(demand.Key(next->selectors[demand.selector]));
    if (it == old_demands.end()) continue;
    if (moved_to[demands->demands[it->second].selector] == demand.selector) {
      carried[d] = &demand_states[it->second];
    }
  }

  // Tracks that a carried demand reads, with the windows that are read; in the order of the new
  // demands.
  std::vector<TrackState> old_tracks = std::move(tracks);
  tracks.clear();
  for (size_t d = 0; d < carried.size(); ++d) {
    if (carried[d] == nullptr || carried[d]->track == nullptr) continue;
    for (TrackState& track : old_tracks) {
      if (track.track.get() != carried[d]->track) continue;
      track.key.selector = moved_to[track.key.selector];
      std::vector<bool> used;
      for (const DemandState* state : carried) {
        if (state == nullptr || state->track != track.track.get()) continue;
        if (used.size() <= state->window) used.resize(state->window + 1, false);
        used[state->window] = true;
      }
      track.track->RetainWindows(used);
      tracks.push_back(std::move(track));
      break;
    }
  }

  // The same for those by series.
  std::vector<SeriesTrackState> old_series_tracks = std::move(series_tracks);
  series_tracks.clear();
  for (SeriesTrackState& track : old_series_tracks) {
    const bool used = std::any_of(carried.begin(), carried.end(), [&](const DemandState* state) {
      return state != nullptr && state->by_series == track.track.get();
    });
    if (!used) continue;
    track.key.selector = moved_to[track.key.selector];
    track.track->ForgetDemands();
    series_tracks.push_back(std::move(track));
  }

  std::vector<SketchState> old_sketches = std::move(sketches);
  sketches.clear();
  for (SketchState& sketch : old_sketches) {
    const bool used = std::any_of(carried.begin(), carried.end(), [&](const DemandState* state) {
      return state != nullptr && state->sketch == sketch.window.get();
    });
    if (!used) continue;
    sketch.key.selector = moved_to[sketch.key.selector];
    sketches.push_back(std::move(sketch));
  }

  ++epoch;
  demands = std::move(next);
  IndexSelectors();
  for (SeriesInfo& info : series) info.memberships.clear();
  for (uint32_t s = 0; s < selectors.size(); ++s) {
    SelectorState& selector = selectors[s];
    if (!kept[s]) {
      for (uint32_t id = 0; id < series.size(); ++id) {
        const SeriesInfo& info = series[id];
        if (!info.known || info.dormant || !demands->selectors[s].Matches(info.labels)) continue;
        selector.members.push_back(SeriesId(id));
        selector.labels.push_back(&info.labels);
      }
    }
    // A selector's number may mean another selector now: what was bound to it must be bound again.
    selector.generation = state_version + 1;
    for (uint32_t column = 0; column < selector.members.size(); ++column) {
      series[selector.members[column].value()].memberships.push_back({s, column});
    }
  }
  AddDemands(carried);
  ++layout;
  ++state_version;
}

void SeriesStore::State::ReadBySeries(DemandState& state, const Demand& demand,
                                      std::span<const double> arguments) {
  state.by_series->SetColumns(state.present.size());
  state.by_series->Read(demand, tick, state.since, arguments, state.values.data(),
                        state.present.data());
  state.lacked = state.by_series->lacked();
}

Column SeriesStore::State::Read(uint32_t index, std::span<const double> arguments) {
  PITWALL_CHECK(index < demand_states.size() && tick == sealed);
  DemandState& state = demand_states[index];
  const Demand& demand = demands->demands[index];
  const size_t n =
      demand.selector < selectors.size() ? selectors[demand.selector].members.size() : size_t{0};
  if (state.read_version == state_version && state.present.size() == n &&
      std::equal(arguments.begin(), arguments.end(), state.read_arguments.begin(),
                 state.read_arguments.end(), SameBits)) {
    return {state.values, state.present};
  }
  state.read_arguments.assign(arguments.begin(), arguments.end());
  state.values.resize(n * ValuesPerSeries(demand.function, arguments.size()));
  state.present.resize(n);
  state.read_version = state_version;
  double* values = state.values.data();
  uint8_t* present = state.present.data();
  if (!state.status.ok() || n == 0) {
    std::fill_n(present, n, uint8_t{0});
    return {state.values, state.present};
  }
  const bool instant = demand.kind == WindowKind::kInstant;
  if (state.by_series != nullptr) {
    ReadBySeries(state, demand, arguments);
    return {state.values, state.present};
  }
  if (state.sketch != nullptr) {
    state.sketch->SetColumns(n);
    state.sketch->Read(tick, arguments.empty() ? NormalNan() : arguments[0], values, present);
    state.lacked = state.sketch->lacked();
    return {state.values, state.present};
  }
  if (state.track == nullptr) {
    const int64_t after = std::max(tick - demand.lookback, state.since);
    const std::vector<SeriesId>& members = selectors[demand.selector].members;
    const bool want_value = demand.function == WindowFunction::kLast;
    for (size_t i = 0; i < n; ++i) {
      const LastSample& newest = last[members[i].value()];
      values[i] = want_value ? newest.value : static_cast<double>(newest.position) / 1e9;
      present[i] = newest.position > after && !IsStale(newest.value) ? 1 : 0;
    }
    return {state.values, state.present};
  }
  Track& track = *state.track;
  track.SetColumns(n);
  // Ticks are multiples of the demand's interval: the caller's contract.
  const int64_t end = tick - demand.offset;
  WindowQuery query;
  query.function = demand.function;
  query.finish = state.plan->finish;
  query.phi = arguments.empty() ? NormalNan() : arguments[0];
  ReadContext& context = query.context;
  context.range_end = end;
  context.range_start = end - (instant ? demand.lookback : demand.range);
  if (demand.kind == WindowKind::kAttempt) context.range_start = std::min(attempt_at, end);
  context.range_seconds = static_cast<double>(context.range_end - context.range_start) / 1e9;
  context.tick = tick;
  state.lacked = !track.Read(state.window, query, values, present);
  return {state.values, state.present};
}

// ---- The public side.

SeriesStore::SeriesStore(std::shared_ptr<const DemandSet> demands, Limits limits)
    : state_(std::make_unique<State>()) {
  state_->demands = std::move(demands);
  state_->limits = limits;
  state_->selectors.resize(state_->demands->selectors.size());
  state_->IndexSelectors();
  state_->AddDemands({});
}

SeriesStore::~SeriesStore() = default;

uint64_t SeriesStore::Generation(uint32_t selector) const {
  return state_->selectors[selector].generation;
}
std::span<const Labels* const> SeriesStore::Series(uint32_t selector) const {
  return state_->selectors[selector].labels;
}
Column SeriesStore::Read(uint32_t demand, std::span<const double> arguments) {
  return state_->Read(demand, arguments);
}

Status SeriesStore::DemandStatus(uint32_t demand) const {
  const DemandState& state = state_->demand_states[demand];
  if (!state.status.ok()) return state.status;
  if (state.track != nullptr && state.lacked) {
    return ResourceExhausted(
        Cat("the oldest samples of a long window are missing: those of all series need more than ",
            state_->limits.max_window_bytes,
            " bytes, the limit (max_window_bytes); a longer interval needs fewer"));
  }
  if (state.sketch != nullptr && state.lacked) {
    return ResourceExhausted(
        Cat("more than ", kMaxSketchSamples, " samples of a series in the window of a sketch"));
  }
  if ((state.track != nullptr && state.track->AnyOverflow(state.window)) || state.lacked) {
    return ResourceExhausted(
        Cat("more than ", kMaxOrderedSamples,
            state.plan->family == Family::kStates ? " changes of state" : " samples",
            " of a series in a window that keeps them"));
  }
  return OkStatus();
}

int64_t SeriesStore::FullFrom(uint32_t index) const {
  const DemandState& state = state_->demand_states[index];
  const Demand& demand = state_->demands->demands[index];
  if (state.since == kMinPosition) return kMinPosition;
  return state.since + demand.offset + (demand.kind == WindowKind::kTime ? demand.range : 0);
}

std::optional<PrefixProgress> SeriesStore::Filling(uint32_t index) const {
  const DemandState& state = state_->demand_states[index];
  if (state.by_series == nullptr) return std::nullopt;
  return state.by_series->Filling(state_->demands->demands[index], state_->tick);
}

void SeriesStore::Replace(std::shared_ptr<const DemandSet> demands) {
  state_->Replace(std::move(demands));
}

}  // namespace pitwall::window
