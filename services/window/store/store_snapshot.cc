// Life of the store as a whole: Reset, Save and Restore, size.
#include <algorithm>

#include "services/base/text/stable_hash.h"
#include "services/model/label_bytes.h"
#include "services/model/value.h"
#include "services/window/store/store_state.h"

namespace pitwall::window {
namespace {

constexpr uint8_t kFormat = 3;

uint64_t HashOf(const DemandSet& set) {
  std::string text = set.clock.ToString();
  for (const Selector& selector : set.selectors) CatTo(text, "\n", selector.Key());
  for (const Demand& demand : set.demands) {
    CatTo(text, "\n", demand.selector, " ",
          demand.selector < set.selectors.size() ? demand.Key(set.selectors[demand.selector]) : "");
  }
  return StableHash64(text);
}

void SaveLabels(BinaryWriter& out, const Labels& labels) {
  out.U64(labels.size());
  for (const Label& label : labels) {
    out.Str(label.name);
    out.Str(label.value);
  }
}

Labels LoadLabels(BinaryReader& in) {
  std::vector<Label> pairs;
  const size_t n = in.Count(2);
  for (size_t i = 0; i < n && in.ok(); ++i) {
    std::string name = in.Str();
    pairs.push_back({std::move(name), in.Str()});
  }
  return Labels::FromPairs(std::move(pairs));
}

std::vector<uint64_t*> Totals(StoreCounters& c) {
  return {&c.cells_appended, &c.samples_sealed, &c.stale_markers,   &c.duplicates,
          &c.unwanted,       &c.recorded,       &c.series_forgotten};
}

void SaveKey(BinaryWriter& out, const TrackKey& key) {
  out.U64(key.selector);
  out.I64(key.length);
  out.I64(key.cut);
  out.I64(key.phase_offset);
  out.Bool(key.align_job);
  out.Bool(key.with_stale);
  out.Bool(key.packed);
  out.Bool(key.attempt);
  out.U64(key.epoch);
}

TrackKey LoadKey(BinaryReader& in) {
  TrackKey key;
  key.selector = static_cast<uint32_t>(in.U64());
  key.length = in.I64();
  key.cut = in.I64();
  key.phase_offset = in.I64();
  key.align_job = in.Bool();
  key.with_stale = in.Bool();
  key.packed = in.Bool();
  key.attempt = in.Bool();
  key.epoch = static_cast<uint32_t>(in.U64());
  return key;
}

}  // namespace

void SeriesStore::State::Save(BinaryWriter& out) const {
  out.U8(kFormat);
  out.U64(HashOf(*demands));
  out.U64(epoch);
  for (const DemandState& state : demand_states) {
    out.U64(state.epoch);
    out.I64(state.since);
  }
  StoreCounters totals = counters;
  for (const uint64_t* total : Totals(totals)) out.U64(*total);
  out.I64(sealed);
  out.I64(tick);
  out.I64(origin);
  out.I64(attempt_at);
  out.Bool(started);

  out.U64(series.size());
  for (uint32_t id = 0; id < series.size(); ++id) {
    const SeriesInfo& info = series[id];
    out.Bool(info.known);
    if (!info.known) continue;
    SaveLabels(out, info.labels);
    out.Bool(info.dormant);
    out.I64(info.interned_at);
    out.I64(last[id].position);
    out.Double(last[id].value);
  }
  out.U32s(free_ids);
  for (const SelectorState& selector : selectors) {
    std::vector<uint32_t> members;
    for (const SeriesId id : selector.members) members.push_back(id.value());
    out.U32s(members);
  }
  out.U64(tracks.size());
  for (const TrackState& track : tracks) {
    SaveKey(out, track.key);
    track.track->Save(out);
  }
  out.U64(series_tracks.size());
  for (const SeriesTrackState& track : series_tracks) {
    out.U64(track.key.selector);
    out.U8(static_cast<uint8_t>(track.key.kind));
    out.I64(track.key.length);
    out.I64(track.key.skip);
    out.Bool(track.key.attempt);
    out.U64(track.key.epoch);
    track.track->Save(out);
  }
  out.U64(sketches.size());
  for (const SketchState& sketch : sketches) {
    SaveKey(out, sketch.key);
    out.I64(sketch.panes);
    out.I64(sketch.delay);
    sketch.window->Save(out);
  }

  // Open rows, with the layouts that they use.
  absl::flat_hash_map<uint32_t, uint64_t> plan_numbers;
  std::vector<uint32_t> used;
  for (const OpenRow& row : open.rows()) {
    if (plan_numbers.emplace(row.plan, used.size()).second) used.push_back(row.plan);
  }
  out.U64(used.size());
  for (const uint32_t plan : used) {
    std::vector<uint32_t> plan_series;
    for (const SeriesId id : plans[plan].ids) plan_series.push_back(id.value());
    out.U32s(plan_series);
  }
  out.U64(open.rows().size());
  for (const OpenRow& row : open.rows()) {
    const RowKey key = open.KeyOf(row);
    out.U64(plan_numbers[row.plan]);
    out.I64(key.position);
    out.Str(key.source);
    out.Str(key.boot_id);
    out.U64(key.sequence);
    out.U64(key.index);
    out.Doubles({open.Values(row), row.cells});
  }
}

Status SeriesStore::State::Load(BinaryReader& in) {
  if (in.U8() != kFormat) return DataLoss("window state: unknown format");
  if (in.U64() != HashOf(*demands)) {
    return in.ok() ? InvalidArgument("window state was saved with other demands")
                   : in.Finish("window state");
  }
  epoch = static_cast<uint32_t>(in.U64());
  std::vector<DemandState> ages(demands->demands.size());
  std::vector<DemandState*> carried;
  for (DemandState& age : ages) {
    age.epoch = static_cast<uint32_t>(in.U64());
    age.since = in.I64();
    if (age.epoch > epoch) in.Fail();
    carried.push_back(&age);
  }
  for (uint64_t* total : Totals(counters)) *total = in.U64();
  sealed = in.I64();
  tick = in.I64();
  origin = in.I64();
  attempt_at = in.I64();
  started = in.Bool();
  for (const int64_t position : {sealed, tick, origin, attempt_at}) {
    if (position < kMinPosition || position > kMaxPosition) in.Fail();
  }

  const size_t n = in.Count(1);
  for (uint32_t id = 0; id < n && in.ok(); ++id) {
    SeriesInfo& info = series.emplace_back();
    last.emplace_back();
    info.known = in.Bool();
    if (!info.known) continue;
    info.labels = LoadLabels(in);
    label_bytes += LabelBytes(info.labels);
    info.dormant = in.Bool();
    info.interned_at = in.I64();
    last[id].position = in.I64();
    last[id].value = in.Double();
    ++known_series;
    if (!ids.emplace(&info.labels, id).second) in.Fail();
  }
  free_ids = in.U32s();
  if (free_ids.size() != series.size() - known_series) in.Fail();
  for (const uint32_t id : free_ids) {
    if (id >= series.size() || series[id].known) in.Fail();
  }
  for (uint32_t s = 0; s < selectors.size(); ++s) {
    for (const uint32_t id : in.U32s()) {
      if (!Known(SeriesId(id)) ||
          (!series[id].memberships.empty() && series[id].memberships.back().selector == s)) {
        in.Fail();
        break;
      }
      series[id].memberships.push_back({s, static_cast<uint32_t>(selectors[s].members.size())});
      selectors[s].members.push_back(SeriesId(id));
      selectors[s].labels.push_back(&series[id].labels);
    }
  }
  if (!in.ok()) return in.Finish("window state");

  tracks.clear();
  series_tracks.clear();
  sketches.clear();
  AddDemands(carried);
  if (in.U64() != tracks.size()) in.Fail();
  std::vector<bool> loaded(tracks.size(), false);
  for (size_t k = 0; k < tracks.size() && in.ok(); ++k) {
    const TrackKey key = LoadKey(in);
    const auto it = std::find_if(tracks.begin(), tracks.end(),
                                 [&](const TrackState& track) { return track.key == key; });
    if (it == tracks.end() || loaded[static_cast<size_t>(it - tracks.begin())]) {
      in.Fail();
      break;
    }
    loaded[static_cast<size_t>(it - tracks.begin())] = true;
    it->track->Load(in, selectors[key.selector].members.size());
    if (!it->track->IsAt(sealed)) in.Fail();
  }

  if (in.U64() != series_tracks.size()) in.Fail();
  for (size_t k = 0; k < series_tracks.size() && in.ok(); ++k) {
    SeriesTrackKey key{};
    key.selector = static_cast<uint32_t>(in.U64());
    key.kind = static_cast<SeriesTrackKind>(in.U8());
    key.length = in.I64();
    key.skip = in.I64();
    key.attempt = in.Bool();
    key.epoch = static_cast<uint32_t>(in.U64());
    const auto it = std::find_if(series_tracks.begin(), series_tracks.end(),
                                 [&](const auto& track) { return track.key == key; });
    if (it == series_tracks.end()) {
      in.Fail();
      break;
    }
    it->track->Load(in, selectors[key.selector].members.size());
  }

  if (in.U64() != sketches.size()) in.Fail();
  for (size_t k = 0; k < sketches.size() && in.ok(); ++k) {
    const TrackKey key = LoadKey(in);
    const int64_t panes = in.I64(), delay = in.I64();
    const auto it = std::find_if(sketches.begin(), sketches.end(), [&](const SketchState& sketch) {
      return sketch.key == key && sketch.panes == panes && sketch.delay == delay;
    });
    if (it == sketches.end()) {
      in.Fail();
      break;
    }
    it->window->Load(in, selectors[key.selector].members.size());
  }

  std::vector<uint32_t> used;
  const size_t layouts = in.Count(1);
  for (size_t k = 0; k < layouts && in.ok(); ++k) {
    std::vector<SeriesId> plan_series;
    for (const uint32_t id : in.U32s()) plan_series.push_back(SeriesId(id));
    const StatusOr<uint32_t> plan = FindPlan(std::move(plan_series));
    if (!plan.ok()) {
      in.Fail();
      break;
    }
    used.push_back(*plan);
  }
  const size_t rows = in.Count(6);
  for (size_t k = 0; k < rows && in.ok(); ++k) {
    const uint64_t number = in.U64();
    RowKey key;
    key.position = in.I64();
    key.source = in.StrView();
    key.boot_id = in.StrView();
    key.sequence = in.U64();
    key.index = static_cast<uint32_t>(in.U64());
    const std::vector<double> values = in.Doubles();
    if (!in.ok() || number >= used.size() || values.size() != plans[used[number]].ids.size() ||
        key.position <= sealed || key.position >= kMaxPosition) {
      in.Fail();
      break;
    }
    open.Add(key, used[number], values);
    ++plans[used[number]].rows;
  }
  for (const uint32_t plan : used) {
    if (in.ok()) DropPlanIfUnused(plan);
  }
  if (!in.ok()) return in.Finish("window state");
  ++state_version;
  return OkStatus();
}

// ---- The public side.

void SeriesStore::Save(BinaryWriter& out) const { state_->Save(out); }

StatusOr<std::unique_ptr<SeriesStore>> SeriesStore::Restore(
    BinaryReader& in, std::shared_ptr<const DemandSet> demands, Limits limits) {
  auto store = std::make_unique<SeriesStore>(std::move(demands), limits);
  RETURN_IF_ERROR(store->state_->Load(in));
  return store;
}

void SeriesStore::Reset() {
  State& s = *state_;
  for (const OpenRow& row : s.open.rows()) --s.plans[row.plan].rows;
  s.open.Clear();
  for (uint32_t plan = 0; plan < s.plans.size(); ++plan) s.DropPlanIfUnused(plan);
  std::fill(s.last.begin(), s.last.end(), LastSample());
  for (SeriesInfo& info : s.series) info.interned_at = kMinPosition;
  for (TrackState& track : s.tracks) track.track->Reset();
  for (SeriesTrackState& track : s.series_tracks) track.track->Restart(kMinPosition);
  for (SketchState& sketch : s.sketches) sketch.window->Reset();
  for (DemandState& state : s.demand_states) state.since = kMinPosition;
  s.sealed = s.tick = s.attempt_at = kMinPosition;
  ++s.state_version;
}

void SeriesStore::Reset(std::span<const SeriesId> ids) {
  State& s = *state_;
  std::vector<bool> gone(s.series.size(), false);
  std::vector<std::vector<uint32_t>> columns(s.selectors.size());
  for (const SeriesId id : ids) {
    if (!s.Known(id) || gone[id.value()]) continue;
    gone[id.value()] = true;
    s.last[id.value()] = LastSample();
    for (const Membership& membership : s.series[id.value()].memberships) {
      columns[membership.selector].push_back(membership.column);
    }
  }
  for (const OpenRow& row : s.open.rows()) {
    const std::vector<SeriesId>& row_ids = s.plans[row.plan].ids;
    double* values = s.open.MutableValues(row);
    for (size_t i = 0; i < row_ids.size(); ++i) {
      if (row_ids[i] != kUnwanted && gone[row_ids[i].value()]) values[i] = MissingValue();
    }
  }
  for (uint32_t selector = 0; selector < columns.size(); ++selector) {
    if (columns[selector].empty()) continue;
    for (Track* track : s.selectors[selector].tracks) {
      track->SetColumns(s.selectors[selector].members.size());
      track->ClearColumns(columns[selector]);
    }
    for (SeriesTrack* track : s.selectors[selector].series_tracks) {
      track->SetColumns(s.selectors[selector].members.size());
      track->ClearColumns(columns[selector]);
    }
    for (SketchWindow* sketch : s.selectors[selector].sketches) {
      sketch->SetColumns(s.selectors[selector].members.size());
      sketch->ClearColumns(columns[selector]);
    }
  }
  ++s.state_version;
}

bool SeriesStore::IsEmpty() const {
  return state_->known_series == 0 && state_->open.rows().empty();
}
const StoreCounters& SeriesStore::counters() const { return state_->counters; }
const DemandSet& SeriesStore::demands() const { return *state_->demands; }

size_t SeriesStore::MemoryBytes() const {
  const State& s = *state_;
  size_t bytes = sizeof(State) + s.ids.capacity() * 17 + s.open.MemoryBytes() +
                 s.scratch.capacity() * sizeof(double);
  for (const SeriesInfo& info : s.series) {
    bytes += sizeof(SeriesInfo) + sizeof(LastSample);
    for (const Label& label : info.labels) {
      bytes += sizeof(Label) + (label.name.capacity() > 15 ? label.name.capacity() : 0) +
               (label.value.capacity() > 15 ? label.value.capacity() : 0);
    }
  }
  for (const SelectorState& selector : s.selectors) {
    bytes += selector.members.capacity() * (sizeof(SeriesId) + sizeof(const Labels*));
  }
  for (const RowPlan& plan : s.plans) {
    bytes += sizeof(RowPlan) + 2 * plan.ids.capacity() * sizeof(SeriesId) +
             plan.wanted.capacity() * sizeof(RowPlan::Cell);
    for (const RowPlan::Target& target : plan.targets) bytes += target.cells.capacity() * 8;
  }
  for (const TrackState& track : s.tracks) bytes += track.track->MemoryBytes();
  for (const SeriesTrackState& track : s.series_tracks) bytes += track.track->MemoryBytes();
  for (const SketchState& sketch : s.sketches) bytes += sketch.window->MemoryBytes();
  for (const DemandState& state : s.demand_states) bytes += state.values.capacity() * 9;
  return bytes;
}

}  // namespace pitwall::window
