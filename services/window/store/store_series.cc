// Series and row plans of the store: who is who, and what goes where.
#include <algorithm>

#include "services/base/check.h"
#include "services/model/label_bytes.h"
#include "services/window/store/store_state.h"

namespace pitwall::window {

void SeriesStore::State::IndexSelectors() {
  selectors_by_name.clear();
  nameless_selectors.clear();
  for (uint32_t s = 0; s < demands->selectors.size(); ++s) {
    const std::string_view name = demands->selectors[s].MetricName();
    if (name.empty()) {
      nameless_selectors.push_back(s);
    } else {
      selectors_by_name[std::string(name)].push_back(s);
    }
  }
}

void SeriesStore::State::MatchSeries(const Labels& labels, std::vector<uint32_t>* matching) const {
  matching->clear();
  const auto try_all = [&](const std::vector<uint32_t>& candidates) {
    for (const uint32_t s : candidates) {
      if (demands->selectors[s].Matches(labels)) matching->push_back(s);
    }
  };
  if (const auto it = selectors_by_name.find(labels.Name()); it != selectors_by_name.end()) {
    try_all(it->second);
  }
  try_all(nameless_selectors);
}

StatusOr<SeriesId> SeriesStore::State::Intern(const Labels& labels) {
  if (const auto it = ids.find(labels); it != ids.end()) return SeriesId(it->second);
  std::vector<uint32_t> matching;
  MatchSeries(labels, &matching);
  if (matching.empty()) return kUnwanted;
  if (known_series >= limits.max_series) {
    return ResourceExhausted(Cat("series ", labels.ToString(), ": the job has ", known_series,
                                 " series already, the limit (max_series)"));
  }
  const size_t bytes = LabelBytes(labels);
  if (label_bytes + bytes > limits.max_label_bytes) {
    return OutOfRange(Cat("series ", labels.Name(), ": the labels of the job have ", label_bytes,
                          " bytes already, the limit is ", limits.max_label_bytes,
                          " (max_label_bytes)"));
  }
  label_bytes += bytes;
  uint32_t id;
  if (free_ids.empty()) {
    id = static_cast<uint32_t>(series.size());
    series.emplace_back();
    last.emplace_back();
  } else {
    id = free_ids.back();
    free_ids.pop_back();
  }
  SeriesInfo& info = series[id];
  info.labels = labels;
  info.known = true;
  info.interned_at = sealed;
  last[id] = LastSample();
  ids.emplace(&info.labels, id);
  ++known_series;
  Join(id);
  return SeriesId(id);
}

// Gives the series a column in every selector that matches it.
void SeriesStore::State::Join(uint32_t id) {
  SeriesInfo& info = series[id];
  std::vector<uint32_t> matching;
  MatchSeries(info.labels, &matching);
  for (const uint32_t s : matching) {
    SelectorState& selector = selectors[s];
    info.memberships.push_back({s, static_cast<uint32_t>(selector.members.size())});
    selector.members.push_back(SeriesId(id));
    selector.labels.push_back(&info.labels);
    ++selector.generation;
  }
  ++state_version;
}

void SeriesStore::State::Activate(uint32_t id) {
  series[id].dormant = false;
  Join(id);
  ++layout;  // plans that hold it must find its new columns
}

StatusOr<uint32_t> SeriesStore::State::FindPlan(std::vector<SeriesId> plan_series) {
  if (const auto it = plan_ids.find(plan_series); it != plan_ids.end()) return it->second;
  for (const SeriesId id : plan_series) {
    if (id != kUnwanted && !Known(id)) {
      return InvalidArgument(
          Cat("series id ", id.value(), " is not known: forgotten, or never interned"));
    }
  }
  uint32_t index;
  if (free_plans.empty()) {
    index = static_cast<uint32_t>(plans.size());
    plans.emplace_back();
  } else {
    index = free_plans.back();
    free_plans.pop_back();
  }
  RowPlan& plan = plans[index];
  plan = RowPlan();
  plan.live = true;
  plan.ids = std::move(plan_series);
  for (const SeriesId id : plan.ids) {
    if (id != kUnwanted) ++series[id.value()].pins;
  }
  plan_ids.emplace(plan.ids, index);
  return index;
}

// Where each cell of the plan's rows goes.
void SeriesStore::State::LayOut(RowPlan& plan) {
  plan.layout = layout;
  plan.wanted.clear();
  plan.targets.clear();
  plan.has_dormant = false;
  absl::flat_hash_map<uint32_t, size_t>
      target_of;  // by selector; targets stand in order of first use
  for (uint32_t cell = 0; cell < plan.ids.size(); ++cell) {
    const SeriesId id = plan.ids[cell];
    if (id == kUnwanted) continue;
    const SeriesInfo& info = series[id.value()];
    plan.wanted.push_back({cell, id.value()});
    plan.has_dormant |= info.dormant;
    for (const Membership& membership : info.memberships) {
      if (!selectors[membership.selector].windowed()) continue;
      const auto [it, added] = target_of.emplace(membership.selector, plan.targets.size());
      if (added) plan.targets.push_back({membership.selector, {}, {}});
      plan.targets[it->second].cells.push_back(cell);
      plan.targets[it->second].columns.push_back(membership.column);
    }
  }
}

void SeriesStore::State::DropPlan(uint32_t index) {
  RowPlan& plan = plans[index];
  for (const SeriesId id : plan.ids) {
    if (id != kUnwanted) --series[id.value()].pins;
  }
  plan_ids.erase(plan.ids);
  plan = RowPlan();
  free_plans.push_back(index);
}

void SeriesStore::State::DropPlanIfUnused(uint32_t index) {
  const RowPlan& plan = plans[index];
  if (plan.live && !plan.held && plan.rows == 0) DropPlan(index);
}

// A sample at or before sealed - horizon can be in no read of this selector any more.
int64_t SeriesStore::State::HorizonOf(uint32_t selector) const {
  int64_t horizon = 0;
  for (const Demand& demand : demands->demands) {
    if (demand.selector != selector) continue;
    if (demand.kind == WindowKind::kAttempt || demand.kind == WindowKind::kFirst)
      return kMaxPosition;
    const int64_t range = demand.kind == WindowKind::kTime ? demand.range : 0;
    horizon = std::max(horizon, range + demand.lookback + demand.offset);
  }
  return horizon;
}

std::vector<SeriesId> SeriesStore::State::Expire() {
  std::vector<SeriesId> forgotten;
  if (sealed == kMinPosition) return forgotten;
  std::vector<int64_t> horizons(selectors.size());
  for (uint32_t s = 0; s < selectors.size(); ++s) horizons[s] = HorizonOf(s);
  const auto expired = [&](uint32_t id) {
    const SeriesInfo& info = series[id];
    int64_t horizon = 0;
    for (const Membership& membership : info.memberships)
      horizon = std::max(horizon, horizons[membership.selector]);
    return info.known && horizon < kMaxPosition &&
           std::max(last[id].position, info.interned_at) <= sealed - horizon;
  };
  // Taking out columns moves all others, however few go: they wait until it is worth it, or until
  // their places are needed.
  size_t candidates = 0;
  for (uint32_t id = 0; id < series.size(); ++id) {
    const bool gone_already = series[id].dormant && series[id].pins > 0;
    candidates += expired(id) && !gone_already ? 1 : 0;
  }
  const bool crowded = known_series > limits.max_series - limits.max_series / kExpireShare ||
                       label_bytes > limits.max_label_bytes - limits.max_label_bytes / kExpireShare;
  if (candidates * kExpireShare < known_series && !crowded) return forgotten;
  std::vector<bool> gone(series.size(), false);
  bool any_column = false;
  for (uint32_t id = 0; id < series.size(); ++id) {
    SeriesInfo& info = series[id];
    if (!expired(id)) continue;
    if (!info.dormant && !info.memberships.empty()) {
      gone[id] = true;
      any_column = true;
    }
    if (info.pins > 0) {
      if (!info.memberships.empty()) info.dormant = true;
      continue;
    }
    forgotten.push_back(SeriesId(id));
  }
  if (any_column) CompactSelectors(gone);
  for (const SeriesId id : forgotten) {
    SeriesInfo& info = series[id.value()];
    ids.erase(info.labels);
    label_bytes -= LabelBytes(info.labels);
    info.Clear();
    last[id.value()] = LastSample();
    free_ids.push_back(id.value());
    --known_series;
    ++counters.series_forgotten;
  }
  if (!forgotten.empty() || any_column) {
    ++layout;
    ++state_version;
  }
  return forgotten;
}

// Takes the columns of these series out of every selector and track.
void SeriesStore::State::CompactSelectors(const std::vector<bool>& gone) {
  for (uint32_t s = 0; s < selectors.size(); ++s) {
    SelectorState& selector = selectors[s];
    std::vector<uint32_t> keep;
    keep.reserve(selector.members.size());
    for (uint32_t column = 0; column < selector.members.size(); ++column) {
      if (!gone[selector.members[column].value()]) keep.push_back(column);
    }
    if (keep.size() == selector.members.size()) continue;
    for (Track* track : selector.tracks) {
      track->SetColumns(selector.members.size());
      track->Remap(keep);
    }
    for (SeriesTrack* track : selector.series_tracks) {
      track->SetColumns(selector.members.size());
      track->Remap(keep);
    }
    for (SketchWindow* sketch : selector.sketches) {
      sketch->SetColumns(selector.members.size());
      sketch->Remap(keep);
    }
    for (size_t i = 0; i < keep.size(); ++i) {
      const SeriesId id = selector.members[keep[i]];
      selector.members[i] = id;
      selector.labels[i] = &series[id.value()].labels;
      for (Membership& membership : series[id.value()].memberships) {
        if (membership.selector == s) membership.column = static_cast<uint32_t>(i);
      }
    }
    selector.members.resize(keep.size());
    selector.labels.resize(keep.size());
    ++selector.generation;
  }
  for (uint32_t id = 0; id < series.size(); ++id) {
    if (gone[id]) series[id].memberships.clear();
  }
}

// ---- The public side.

StatusOr<SeriesId> SeriesStore::Intern(const Labels& labels) { return state_->Intern(labels); }

StatusOr<RowPlanId> SeriesStore::Plan(std::vector<SeriesId> ids) {
  ASSIGN_OR_RETURN(const uint32_t index, state_->FindPlan(std::move(ids)));
  ++state_->plans[index].held;
  return RowPlanId(index);
}

void SeriesStore::ReleasePlan(RowPlanId plan) {
  if (plan.value() >= state_->plans.size() || state_->plans[plan.value()].held == 0) return;
  --state_->plans[plan.value()].held;
  state_->DropPlanIfUnused(plan.value());
}

std::vector<SeriesId> SeriesStore::Expire() { return state_->Expire(); }

size_t SeriesStore::SeriesCount() const { return state_->known_series; }
const Labels* SeriesStore::LabelsOf(SeriesId id) const {
  return state_->Known(id) ? &state_->series[id.value()].labels : nullptr;
}
std::optional<int64_t> SeriesStore::LastPosition(SeriesId id) const {
  if (!state_->Known(id) || state_->last[id.value()].position == kMinPosition) return std::nullopt;
  return state_->last[id.value()].position;
}

}  // namespace pitwall::window
