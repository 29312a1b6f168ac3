#include "services/window/store/demand_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/window/store/demand_results.h"

namespace pitwall::window {

namespace {

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
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

TrackKey TrackKeyOf(const Demand& demand, const FunctionPlan& plan, const WindowShape& shape,
                    uint32_t epoch, uint32_t long_panes) {
  const bool partials = plan.finish != nullptr;
  return {demand.selector,
          shape.grid.length,
          shape.grid.cut,
          FloorMod(-Duration::Nanos(demand.offset), shape.grid.length),
          demand.align_job,
          plan.family == Family::kLatest,
          partials && shape.panes.Reach() > int64_t{long_panes},
          demand.kind == WindowKind::kAttempt,
          epoch};
}

}  // namespace

bool IsKeptBySeries(const Demand& demand, const FunctionPlan& plan) {
  return demand.kind == WindowKind::kSamples || demand.kind == WindowKind::kFirst ||
         plan.family == Family::kSamples || plan.family == Family::kStates;
}

WindowRef DemandTable::WindowOf(const Demand& demand, const FunctionPlan& plan,
                                const DemandAge& age, Position origin, WindowSet& windows) const {
  WindowRef at;
  if (demand.kind == WindowKind::kInstant && demand.offset == 0) return at;
  if (IsKeptBySeries(demand, plan)) {
    at.by_series = windows.SeriesTrackFor(KeyOf(demand, plan, age.epoch), age.since);
    at.by_series->AddDemand(demand);
    return at;
  }
  const WindowShape shape = ShapeOf(demand, origin);
  const TrackKey key = TrackKeyOf(demand, plan, shape, age.epoch, limits_.long_panes);
  if (plan.family == Family::kSketch) {
    at.sketch = windows.SketchFor(key, shape);
    return at;
  }
  at.track = windows.TrackFor(key, origin);
  at.window = at.track->AddWindow(plan.family, shape.panes, SeriesStore::kMaxOrderedSamples);
  return at;
}

void DemandTable::Assign(std::shared_ptr<const DemandSet> set,
                         const std::vector<std::optional<DemandAge>>& ages, Position sealed,
                         Position origin, WindowSet& windows) {
  set_ = std::move(set);
  std::vector<State> states(set_->demands.size());
  const DemandAge now{epoch_, epoch_ == 0 ? Position::Earliest() : sealed};
  for (size_t d = 0; d < states.size(); ++d) {
    const Demand& demand = set_->demands[d];
    State& state = states[d];
    state.age = d < ages.size() && ages[d].has_value() ? *ages[d] : now;
    state.status = demand.selector < set_->selectors.size()
                       ? ValidateDemand(demand)
                       : InvalidArgument(Cat("demand ", d, ": unknown selector ", demand.selector));
    if (!state.status.ok()) continue;
    state.plan = PlanOf(demand.kind, demand.function);
    state.at = WindowOf(demand, *state.plan, state.age, origin, windows);
  }
  states_ = std::move(states);
  windows.Bind(static_cast<uint32_t>(set_->selectors.size()));
}

std::vector<const DemandTable::State*> DemandTable::ContinuedBy(
    const DemandSet& next, const std::vector<uint32_t>& moved_to) const {
  StringMap<uint32_t> by_key;
  for (uint32_t d = 0; d < states_.size(); ++d) {
    const Demand& demand = set_->demands[d];
    if (states_[d].status.ok()) by_key.emplace(demand.Key(set_->selectors[demand.selector]), d);
  }
  std::vector<const State*> continued(next.demands.size(), nullptr);
  for (size_t d = 0; d < next.demands.size(); ++d) {
    const Demand& demand = next.demands[d];
    if (demand.selector >= next.selectors.size()) continue;
    const auto it = by_key.find(demand.Key(next.selectors[demand.selector]));
    if (it == by_key.end()) continue;
    if (moved_to[set_->demands[it->second].selector] == demand.selector)
      continued[d] = &states_[it->second];
  }
  return continued;
}

void DemandTable::Replace(std::shared_ptr<const DemandSet> next,
                          const std::vector<uint32_t>& moved_to, Position sealed, Position origin,
                          WindowSet& windows) {
  std::vector<WindowRef> used;
  std::vector<std::optional<DemandAge>> ages;
  for (const State* state : ContinuedBy(*next, moved_to)) {
    ages.push_back(state != nullptr ? std::optional(state->age) : std::nullopt);
    if (state != nullptr) used.push_back(state->at);
  }
  windows.Retain(used, moved_to);
  ++epoch_;
  Assign(std::move(next), ages, sealed, origin, windows);
}

Column DemandTable::Read(uint32_t index, std::span<const double> arguments, const ReadTime& time,
                         const SelectorColumns& columns, const SeriesTable& series) {
  PITWALL_CHECK(index < states_.size());
  State& state = states_[index];
  const Demand& demand = set_->demands[index];
  const size_t n =
      demand.selector < columns.size() ? columns.members(demand.selector).size() : size_t{0};
  if (state.read_version == time.version && state.present.size() == n &&
      std::equal(arguments.begin(), arguments.end(), state.read_arguments.begin(),
                 state.read_arguments.end(), SameBits)) {
    return {state.values, state.present};
  }
  state.read_arguments.assign(arguments.begin(), arguments.end());
  state.values.resize(n * ValuesPerSeries(demand.function, arguments.size()));
  state.present.resize(n);
  state.read_version = time.version;
  const WindowRef& at = state.at;
  if (!state.status.ok() || n == 0) {
    std::fill(state.present.begin(), state.present.end(), uint8_t{0});
  } else if (at.by_series != nullptr) {
    at.by_series->SetColumns(n);
    at.by_series->Read(demand, time.tick, state.age.since, arguments, state.values.data(),
                       state.present.data());
    state.incomplete = at.by_series->incomplete();
  } else if (at.sketch != nullptr) {
    at.sketch->SetColumns(n);
    at.sketch->Read(time.tick, arguments.empty() ? NormalNan() : arguments[0], state.values.data(),
                    state.present.data());
    state.incomplete = at.sketch->incomplete();
  } else if (at.track != nullptr) {
    at.track->SetColumns(n);
    ReadTrack(state, demand, arguments, time);
  } else {
    ReadLast(state, demand, time.tick, columns.members(demand.selector), series);
  }
  return {state.values, state.present};
}

void DemandTable::ReadLast(State& state, const Demand& demand, Position tick,
                           const std::vector<SeriesId>& members, const SeriesTable& series) {
  const Position after = std::max(tick - Duration::Nanos(demand.lookback), state.age.since);
  const bool want_value = demand.function == WindowFunction::kLast;
  double* values = state.values.data();
  uint8_t* present = state.present.data();
  for (size_t i = 0; i < members.size(); ++i) {
    const LastSample& newest = series.last(members[i]);
    values[i] = want_value ? newest.value : static_cast<double>(newest.position.ns()) / 1e9;
    present[i] = newest.position > after && !IsStale(newest.value) ? 1 : 0;
  }
}

void DemandTable::ReadTrack(State& state, const Demand& demand, std::span<const double> arguments,
                            const ReadTime& time) {
  WindowQuery query;
  query.function = demand.function;
  query.finish = state.plan->finish;
  query.phi = arguments.empty() ? NormalNan() : arguments[0];
  ReadContext& context = query.context;
  // The caller reads only at ticks that are multiples of the demand's interval (see SeriesStore).
  const Position end = time.tick - Duration::Nanos(demand.offset);
  const bool instant = demand.kind == WindowKind::kInstant;
  Position start = end - Duration::Nanos(instant ? demand.lookback : demand.range);
  if (demand.kind == WindowKind::kAttempt) start = std::min(time.attempt_at, end);
  context.range_start = start.ns();
  context.range_end = end.ns();
  context.range_seconds = static_cast<double>(context.range_end - context.range_start) / 1e9;
  context.tick = time.tick.ns();
  state.incomplete =
      !state.at.track->Read(state.at.window, query, state.values.data(), state.present.data());
}

Status DemandTable::StatusOf(uint32_t index) const {
  const State& state = states_[index];
  if (!state.status.ok()) return state.status;
  const WindowRef& at = state.at;
  if (at.track != nullptr && state.incomplete) {
    return ResourceExhausted(Cat(
        "the oldest samples of a long window were dropped because all series together exceed the "
        "limit of ",
        limits_.max_window_bytes, " bytes (max_window_bytes); use a longer interval"));
  }
  if (at.sketch != nullptr && state.incomplete) {
    return ResourceExhausted(Cat("a series has more than ", SeriesStore::kMaxSketchSamples,
                                 " samples in a sketch window"));
  }
  if ((at.track != nullptr && at.track->AnyOverflow(at.window)) || state.incomplete) {
    return ResourceExhausted(
        Cat("a series has more than ", SeriesStore::kMaxOrderedSamples,
            state.plan->family == Family::kStates ? " state changes" : " samples",
            " in a window that keeps all of them"));
  }
  return OkStatus();
}

Position DemandTable::FullFrom(uint32_t index) const {
  const Position since = states_[index].age.since;
  const Demand& demand = set_->demands[index];
  if (since == Position::Earliest()) return Position::Earliest();
  return since +
         Duration::Nanos(demand.offset + (demand.kind == WindowKind::kTime ? demand.range : 0));
}

std::optional<PrefixProgress> DemandTable::Filling(uint32_t index, Position tick) const {
  const SeriesTrack* track = states_[index].at.by_series;
  if (track == nullptr) return std::nullopt;
  return track->Filling(set_->demands[index], tick);
}

Duration DemandTable::HorizonOf(uint32_t selector) const {
  Duration horizon;
  for (const Demand& demand : set_->demands) {
    if (demand.selector != selector) continue;
    if (demand.kind == WindowKind::kAttempt || demand.kind == WindowKind::kFirst)
      return kMaxHorizon;
    const int64_t range = demand.kind == WindowKind::kTime ? demand.range : 0;
    horizon = std::max(horizon, Duration::Nanos(range + demand.lookback + demand.offset));
  }
  return horizon;
}

void DemandTable::Reset() {
  for (State& state : states_) state.age.since = Position::Earliest();
}

void DemandTable::SaveAges(BinaryWriter& out) const {
  out.U64(epoch_);
  for (const State& state : states_) {
    out.U64(state.age.epoch);
    out.I64(state.age.since.ns());
  }
}

std::vector<std::optional<DemandAge>> DemandTable::LoadAges(BinaryReader& in, size_t demands) {
  epoch_ = static_cast<uint32_t>(in.U64());
  std::vector<std::optional<DemandAge>> ages;
  for (size_t d = 0; d < demands; ++d) {
    DemandAge age;
    age.epoch = static_cast<uint32_t>(in.U64());
    age.since = Position::FromNs(in.I64());
    if (age.epoch > epoch_) in.Fail();
    ages.push_back(age);
  }
  return ages;
}

size_t DemandTable::MemoryBytes() const {
  size_t bytes = 0;
  for (const State& state : states_) bytes += state.values.capacity() * 9;
  return bytes;
}

}  // namespace pitwall::window
