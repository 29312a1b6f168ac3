// Accepts, seals, and applies samples.
#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/window/store/store_state.h"

namespace pitwall::window {

Status SeriesStore::State::CheckRow(const RowKey& key, size_t cells) const {
  if (key.position <= Position::Earliest() || key.position >= Position::Latest()) {
    return InvalidArgument(
        Cat("row of ", key.source, ": position ", key.position.ns(), " is out of range"));
  }
  if (key.position <= progress.sealed()) {
    return FailedPrecondition(Cat("row of ", key.source, ": position ", key.position.ns(),
                                  " is late because it is not after the sealed position ",
                                  progress.sealed().ns()));
  }
  // The charge includes a fixed overhead per row, which dominates for rows with a single sample.
  if (open.charge() + cells + OpenRows::kCellsOfARow > max_open_samples) {
    return ResourceExhausted(
        Cat("row of ", key.source, ": ", open.cells(), " samples in ", open.rows().size(),
            " rows are already waiting to be sealed (limit: max_open_samples)"));
  }
  return OkStatus();
}

void SeriesStore::State::WakeSeries(const RowLayout& row_layout, const double* values) {
  for (const RowLayout::Cell& cell : row_layout.wanted) {
    if (series.dormant(cell.id) && !IsMissing(values[cell.cell])) Wake(cell.id);
  }
}

void SeriesStore::State::ApplyRow(const OpenRow& row) {
  double* values = open.MutableValues(row);
  if (plans.layout(row.plan).version != layout) LayOut(row.plan);
  if (plans.layout(row.plan).has_dormant) {
    WakeSeries(plans.layout(row.plan), values);
    LayOut(row.plan);
  }
  const RowLayout& row_layout = plans.layout(row.plan);
  // This loop updates the state of each series and replaces duplicates with missing values.
  const Position position = row.position;
  progress.AddRow(position);
  uint64_t stale = 0, sealed_samples = 0, duplicates = 0;
  bool huge = false;
  for (const RowLayout::Cell& cell : row_layout.wanted) {
    double& value = values[cell.cell];
    if (IsMissing(value)) continue;
    if (!series.Push(cell.id, position, value)) {
      value = MissingValue();
      ++duplicates;
      continue;
    }
    ++sealed_samples;
    stale += IsStale(value) ? 1 : 0;
    huge |= IsHuge(value);
  }
  counters.samples_sealed += sealed_samples;
  counters.stale_markers += stale;
  counters.duplicates += duplicates;
  if (sealed_samples == 0) return;
  const double* numbers = values;
  if (stale > 0) {
    without_stale.assign(values, values + row.cells);
    for (double& value : without_stale) {
      if (IsStale(value)) value = MissingValue();
    }
    numbers = without_stale.data();
  }
  // This loop updates the windows.
  for (const RowLayout::Target& target : row_layout.targets) {
    windows.of(target.selector)
        .Feed(columns.members(target.selector).size(),
              {position, target.cells, target.columns, values, numbers, huge});
  }
}

// ---- Public functions.

Status SeriesStore::Append(const RowKey& key, RowPlanId plan, std::span<const double> values) {
  State& s = *state_;
  if (!s.plans.Has(plan.value())) {
    return InvalidArgument(Cat("row of ", key.source, ": unknown plan ", plan.value()));
  }
  const std::vector<SeriesId>& ids = s.plans.ids(plan.value());
  if (ids.size() != values.size()) {
    return InvalidArgument(
        Cat("row of ", key.source, ": has ", values.size(), " values for ", ids.size(), " series"));
  }
  RETURN_IF_ERROR(s.CheckRow(key, values.size()));
  if (s.plans.layout(plan.value()).version == 0) s.LayOut(plan.value());
  const size_t wanted = s.plans.layout(plan.value()).wanted.size();
  if (wanted != ids.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      s.counters.unwanted += ids[i] == kUnwanted && !IsMissing(values[i]) ? 1 : 0;
    }
  }
  s.counters.cells_appended += values.size();
  if (wanted == 0) return OkStatus();
  s.open.Add(key, plan.value(), values);
  s.plans.AddRow(plan.value());
  return OkStatus();
}

Status SeriesStore::Append(const RowKey& key, std::span<const SeriesId> ids,
                           std::span<const double> values) {
  ASSIGN_OR_RETURN(const uint32_t plan,
                   state_->plans.FindOrAdd({ids.begin(), ids.end()}, state_->series));
  Status status = Append(key, RowPlanId(plan), values);
  state_->plans.DropIfUnused(plan);
  return status;
}

Status SeriesStore::AppendStale(const RowKey& key, std::span<const SeriesId> ids) {
  const std::vector<double> markers(ids.size(), StaleMarker());
  return Append(key, ids, markers);
}

void SeriesStore::SealTo(Position upto) {
  State& s = *state_;
  upto = std::min(upto, Position::Latest().Previous());
  if (upto <= s.progress.sealed()) return;
  s.open.Take(upto, &s.taken);
  s.progress.StartSealing();
  for (const OpenRow& row : s.taken) {
    s.ApplyRow(row);
    s.open.Release(row);
    s.plans.RemoveRow(row.plan);
  }
  s.open.Tidy();
  s.progress.FinishSealing(upto);
  s.windows.Advance(upto, s.columns);
}

Position SeriesStore::sealed() const { return state_->progress.sealed(); }
std::optional<Position> SeriesStore::OldestOpen() const { return state_->open.Oldest(); }

void SeriesStore::SetOrigin(Position origin) {
  state_->progress.SetOrigin(origin);
  state_->windows.SetOrigin(origin);
}

void SeriesStore::BeginAttempt(Position position) {
  SealTo(position.Previous());
  state_->progress.BeginAttempt(position.Previous());
  state_->windows.BeginAttempt(position.Previous());
}

void SeriesStore::BeginTick(Position tick) { state_->progress.BeginTick(tick); }

bool SeriesStore::Record(SeriesId id, Position position, double value) {
  State& s = *state_;
  PITWALL_CHECK(position == s.progress.sealed() && position == s.progress.tick());
  if (!s.series.Known(id) || IsMissing(value)) return false;
  if (s.series.dormant(id)) s.Wake(id);
  if (!s.series.Push(id, position, value)) {
    ++s.counters.duplicates;
    return std::bit_cast<uint64_t>(s.series.last(id).value) == std::bit_cast<uint64_t>(value);
  }
  ++s.counters.recorded;
  s.progress.NoteChange();
  const bool stale = IsStale(value);
  s.counters.stale_markers += stale ? 1 : 0;
  const uint32_t cell = 0;
  for (const Membership& membership : s.columns.memberships(id)) {
    s.windows.of(membership.selector)
        .Feed(s.columns.members(membership.selector).size(), {position,
                                                              {&cell, 1},
                                                              {&membership.column, 1},
                                                              &value,
                                                              stale ? nullptr : &value,
                                                              IsHuge(value)});
  }
  return true;
}

}  // namespace pitwall::window
