// Manages the store's series and row plans.
#include <algorithm>
#include <utility>

#include "services/window/store/store_state.h"

namespace pitwall::window {
namespace {

// Expire does nothing until at least 1/kExpireShare of the series can be removed.
constexpr size_t kExpireShare = 16;

}  // namespace

void SeriesStore::State::Join(SeriesId id) {
  columns.Join(id, series.labels(id));
  progress.NoteChange();
}

void SeriesStore::State::Wake(SeriesId id) {
  series.SetDormant(id, false);
  Join(id);
  ++layout;  // plans that contain the series must be laid out again
}

void SeriesStore::State::LayOut(uint32_t plan) {
  plans.LayOut(plan, layout, series, columns, windows);
}

std::vector<SeriesId> SeriesStore::State::Expired(size_t* candidates) const {
  std::vector<Duration> horizons(columns.size());
  for (uint32_t s = 0; s < columns.size(); ++s) horizons[s] = demands.HorizonOf(s);
  std::vector<SeriesId> expired;
  *candidates = 0;
  for (uint32_t number = 0; number < series.size(); ++number) {
    const SeriesId id(number);
    if (!series.Known(id)) continue;
    Duration horizon;
    for (const Membership& membership : columns.memberships(id))
      horizon = std::max(horizon, horizons[membership.selector]);
    if (horizon >= kMaxHorizon || series.LastUse(id) > progress.sealed() - horizon) continue;
    expired.push_back(id);
    const bool gone_already = series.dormant(id) && plans.Pins(id);
    *candidates += gone_already ? 0 : 1;
  }
  return expired;
}

void SeriesStore::State::DropColumns(const std::vector<bool>& gone) {
  for (uint32_t s = 0; s < columns.size(); ++s) {
    const size_t before = columns.members(s).size();
    const std::vector<uint32_t> keep = columns.Compact(s, gone);
    if (keep.size() < before) windows.of(s).Remap(before, keep);
  }
  for (uint32_t id = 0; id < gone.size(); ++id) {
    if (gone[id]) columns.Leave(SeriesId(id));
  }
}

// ---- Public functions.

StatusOr<SeriesId> SeriesStore::Intern(const Labels& labels) {
  State& s = *state_;
  if (const std::optional<SeriesId> id = s.series.Find(labels)) return *id;
  if (!s.columns.Matches(labels)) return kUnwanted;
  ASSIGN_OR_RETURN(const SeriesId id, s.series.Add(labels, s.progress.sealed()));
  s.Join(id);
  return id;
}

StatusOr<RowPlanId> SeriesStore::Plan(std::vector<SeriesId> ids) {
  ASSIGN_OR_RETURN(const uint32_t plan, state_->plans.FindOrAdd(std::move(ids), state_->series));
  state_->plans.Hold(plan);
  return RowPlanId(plan);
}

void SeriesStore::ReleasePlan(RowPlanId plan) { state_->plans.Release(plan.value()); }

std::vector<SeriesId> SeriesStore::Expire() {
  State& s = *state_;
  if (s.progress.sealed() == Position::Earliest()) return {};
  // Removing even a few columns moves all others, so they are removed only if there are many of
  // them or space is scarce.
  size_t candidates = 0;
  const std::vector<SeriesId> expired = s.Expired(&candidates);
  if (candidates * kExpireShare < s.series.count() && !s.series.IsCrowded(kExpireShare)) return {};
  std::vector<SeriesId> forgotten;
  std::vector<bool> gone(s.series.size(), false);
  bool any_column = false;
  for (const SeriesId id : expired) {
    const bool has_column = !s.columns.memberships(id).empty();
    if (!s.series.dormant(id) && has_column) gone[id.value()] = any_column = true;
    if (!s.plans.Pins(id)) {
      forgotten.push_back(id);
    } else if (has_column) {
      s.series.SetDormant(id, true);
    }
  }
  if (any_column) s.DropColumns(gone);
  for (const SeriesId id : forgotten) {
    s.columns.Leave(id);
    s.series.Forget(id);
  }
  s.counters.series_forgotten += forgotten.size();
  if (!forgotten.empty() || any_column) {
    ++s.layout;
    s.progress.NoteChange();
  }
  return forgotten;
}

}  // namespace pitwall::window
