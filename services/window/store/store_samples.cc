// The way of a sample: accepted, sealed, applied.
#include <algorithm>
#include <bit>
#include <cmath>

#include "services/base/check.h"
#include "services/model/value.h"
#include "services/window/store/store_state.h"

namespace pitwall::window {

Status SeriesStore::State::CheckRow(const RowKey& key, size_t cells) const {
  if (key.position <= kMinPosition || key.position >= kMaxPosition) {
    return InvalidArgument(
        Cat("row of ", key.source, ": position ", key.position, " is out of range"));
  }
  if (key.position <= sealed) {
    return FailedPrecondition(Cat("row of ", key.source, ": late, position ", key.position,
                                  " is not after ", sealed, ", up to which samples are sealed"));
  }
  // A row counts with what is beside its values: rows of one sample are mostly that.
  if (open.charge() + cells + OpenRows::kCellsOfARow > limits.max_open_samples) {
    return ResourceExhausted(Cat("row of ", key.source, ": ", open.cells(), " samples in ",
                                 open.rows().size(),
                                 " rows wait to be sealed already, the limit (max_open_samples)"));
  }
  return OkStatus();
}

void SeriesStore::State::Seal(int64_t upto) {
  upto = std::min(upto, kMaxPosition - 1);
  if (upto <= sealed) return;
  open.Take(upto, &taken);
  started = true;
  for (const OpenRow& row : taken) {
    ApplyRow(row);
    open.Release(row);
    --plans[row.plan].rows;
    DropPlanIfUnused(row.plan);
  }
  open.Tidy();
  sealed = upto;
  for (TrackState& track : tracks) {
    track.track->SetColumns(selectors[track.key.selector].members.size());
    track.track->Advance(upto);
  }
  ++state_version;
}

void SeriesStore::State::ApplyRow(const OpenRow& row) {
  RowPlan& plan = plans[row.plan];
  double* values = open.MutableValues(row);
  if (plan.layout != layout) LayOut(plan);
  if (plan.has_dormant) {
    for (const RowPlan::Cell& cell : plan.wanted) {
      if (series[cell.id].dormant && !IsMissing(values[cell.cell])) Activate(cell.id);
    }
    LayOut(plan);
  }
  // First, what concerns the series alone; duplicates become missing.
  const int64_t position = row.position;
  if (attempt_at == kMinPosition) attempt_at = position - 1;
  uint64_t stale = 0, sealed_samples = 0, duplicates = 0;
  bool huge = false;
  for (const RowPlan::Cell& cell : plan.wanted) {
    double& value = values[cell.cell];
    if (IsMissing(value)) continue;
    LastSample& newest = last[cell.id];
    if (newest.position >= position) {
      value = MissingValue();
      ++duplicates;
      continue;
    }
    newest = {position, value};
    ++sealed_samples;
    stale += IsStale(value) ? 1 : 0;
    huge |= IsHuge(value);
  }
  counters.samples_sealed += sealed_samples;
  counters.stale_markers += stale;
  counters.duplicates += duplicates;
  if (sealed_samples == 0) return;
  const double* without_stale = values;
  if (stale > 0) {
    scratch.assign(values, values + row.cells);
    for (double& value : scratch) {
      if (IsStale(value)) value = MissingValue();
    }
    without_stale = scratch.data();
  }
  // Then the windows.
  for (const RowPlan::Target& target : plan.targets) {
    Feed(selectors[target.selector], position, target.cells, target.columns, values, without_stale,
         huge);
  }
}

void SeriesStore::State::Feed(SelectorState& selector, int64_t position,
                              std::span<const uint32_t> cells, std::span<const uint32_t> columns,
                              const double* values, const double* without_stale, bool huge) {
  for (Track* track : selector.tracks) {
    if (without_stale == nullptr && !track->with_stale()) continue;
    track->SetColumns(selector.members.size());
    track->Advance(position);
    track->Scatter(position, cells, columns, track->with_stale() ? values : without_stale, huge);
  }
  for (SeriesTrack* track : selector.series_tracks) {
    track->SetColumns(selector.members.size());
    track->Scatter(position, cells, columns, values);
  }
  for (SketchWindow* sketch : selector.sketches) {
    if (without_stale == nullptr) continue;
    sketch->SetColumns(selector.members.size());
    sketch->Scatter(position, cells, columns, without_stale);
  }
}

bool SeriesStore::State::Record(SeriesId id, int64_t position, double value) {
  PITWALL_CHECK(position == sealed && position == tick);
  if (!Known(id) || IsMissing(value)) return false;
  if (series[id.value()].dormant) Activate(id.value());
  LastSample& newest = last[id.value()];
  if (newest.position >= position) {
    ++counters.duplicates;
    return std::bit_cast<uint64_t>(newest.value) == std::bit_cast<uint64_t>(value);
  }
  newest = {position, value};
  ++counters.recorded;
  ++state_version;
  const bool stale = IsStale(value);
  counters.stale_markers += stale ? 1 : 0;
  const uint32_t cell = 0;
  for (const Membership& membership : series[id.value()].memberships) {
    Feed(selectors[membership.selector], position, {&cell, 1}, {&membership.column, 1}, &value,
         stale ? nullptr : &value, IsHuge(value));
  }
  return true;
}

// ---- The public side.

Status SeriesStore::Append(const RowKey& key, RowPlanId plan, std::span<const double> values) {
  State& s = *state_;
  if (plan.value() >= s.plans.size() || !s.plans[plan.value()].live) {
    return InvalidArgument(Cat("row of ", key.source, ": plan ", plan.value(), " is not known"));
  }
  RowPlan& p = s.plans[plan.value()];
  if (p.ids.size() != values.size()) {
    return InvalidArgument(
        Cat("row of ", key.source, ": ", values.size(), " values for ", p.ids.size(), " series"));
  }
  RETURN_IF_ERROR(s.CheckRow(key, values.size()));
  if (p.layout == 0) s.LayOut(p);
  if (p.wanted.size() != p.ids.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      s.counters.unwanted += p.ids[i] == kUnwanted && !IsMissing(values[i]) ? 1 : 0;
    }
  }
  s.counters.cells_appended += values.size();
  if (p.wanted.empty()) return OkStatus();
  s.open.Add(key, plan.value(), values);
  ++p.rows;
  return OkStatus();
}

Status SeriesStore::Append(const RowKey& key, std::span<const SeriesId> ids,
                           std::span<const double> values) {
  ASSIGN_OR_RETURN(const uint32_t plan, state_->FindPlan({ids.begin(), ids.end()}));
  Status status = Append(key, RowPlanId(plan), values);
  state_->DropPlanIfUnused(plan);
  return status;
}

Status SeriesStore::AppendStale(const RowKey& key, std::span<const SeriesId> ids) {
  const std::vector<double> markers(ids.size(), StaleMarker());
  return Append(key, ids, markers);
}

void SeriesStore::SealTo(int64_t upto) { state_->Seal(upto); }
int64_t SeriesStore::sealed() const { return state_->sealed; }
std::optional<int64_t> SeriesStore::OldestOpen() const { return state_->open.Oldest(); }
size_t SeriesStore::OpenSamples() const { return state_->open.cells(); }

void SeriesStore::SetOrigin(int64_t origin) {
  PITWALL_CHECK(!state_->started);
  state_->origin = origin;
  for (TrackState& track : state_->tracks) {
    const int64_t base = track.key.align_job ? origin : 0;
    track.track->set_phase(FloorMod(base + track.key.phase_offset, track.key.length));
  }
  for (SketchState& sketch : state_->sketches) {
    const int64_t base = sketch.key.align_job ? origin : 0;
    sketch.window->set_phase(FloorMod(base + sketch.key.phase_offset, sketch.key.length));
  }
}

void SeriesStore::BeginAttempt(int64_t position) {
  State& s = *state_;
  s.Seal(position - 1);
  s.attempt_at = position - 1;
  for (TrackState& track : s.tracks) {
    if (track.key.attempt) track.track->Reset();
  }
  for (SeriesTrackState& track : s.series_tracks) {
    if (track.key.attempt) track.track->Restart(s.attempt_at);
  }
  for (SketchState& sketch : s.sketches) {
    if (sketch.key.attempt) sketch.window->Reset();
  }
  ++s.state_version;
}

void SeriesStore::BeginTick(int64_t tick) {
  PITWALL_CHECK(tick == state_->sealed);
  state_->tick = tick;
}

bool SeriesStore::Record(SeriesId id, int64_t position, double value) {
  return state_->Record(id, position, value);
}

}  // namespace pitwall::window
