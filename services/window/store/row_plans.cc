#include "services/window/store/row_plans.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::window {

StatusOr<uint32_t> RowPlans::FindOrAdd(std::vector<SeriesId> ids, const SeriesTable& series) {
  if (const auto it = by_ids_.find(ids); it != by_ids_.end()) return it->second;
  for (const SeriesId id : ids) {
    if (id != SeriesStore::kUnwanted && !series.Known(id)) {
      return InvalidArgument(
          Cat("series ID ", id.value(), ": unknown (forgotten or never interned)"));
    }
  }
  uint32_t index;
  if (free_.empty()) {
    index = static_cast<uint32_t>(plans_.size());
    plans_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Plan& plan = plans_[index];
  plan = Plan();
  plan.live = true;
  plan.ids = std::move(ids);
  for (const SeriesId id : plan.ids) {
    if (id == SeriesStore::kUnwanted) continue;
    if (pins_.size() <= id.value()) pins_.resize(id.value() + 1, 0);
    ++pins_[id.value()];
  }
  by_ids_.emplace(plan.ids, index);
  return index;
}

void RowPlans::Release(uint32_t plan) {
  if (plan >= plans_.size() || plans_[plan].holders == 0) return;
  --plans_[plan].holders;
  DropIfUnused(plan);
}

void RowPlans::Drop(uint32_t index) {
  Plan& plan = plans_[index];
  for (const SeriesId id : plan.ids) {
    if (id != SeriesStore::kUnwanted) --pins_[id.value()];
  }
  by_ids_.erase(plan.ids);
  plan = Plan();
  free_.push_back(index);
}

void RowPlans::LayOut(uint32_t index, uint64_t version, const SeriesTable& series,
                      const SelectorColumns& selectors, const WindowSet& windows) {
  const std::vector<SeriesId>& ids = plans_[index].ids;
  RowLayout& layout = plans_[index].layout;
  layout.version = version;
  layout.wanted.clear();
  layout.targets.clear();
  layout.has_dormant = false;
  absl::flat_hash_map<uint32_t, size_t> target_of;  // by selector: index of its target
  for (uint32_t cell = 0; cell < ids.size(); ++cell) {
    const SeriesId id = ids[cell];
    if (id == SeriesStore::kUnwanted) continue;
    layout.wanted.push_back({cell, id});
    layout.has_dormant |= series.dormant(id);
    for (const Membership& membership : selectors.memberships(id)) {
      if (!windows.HasAny(membership.selector)) continue;
      const auto [it, added] = target_of.emplace(membership.selector, layout.targets.size());
      if (added) layout.targets.push_back({membership.selector, {}, {}});
      layout.targets[it->second].cells.push_back(cell);
      layout.targets[it->second].columns.push_back(membership.column);
    }
  }
}

size_t RowPlans::MemoryBytes() const {
  size_t bytes = 0;
  for (const Plan& plan : plans_) {
    bytes += sizeof(Plan) + 2 * plan.ids.capacity() * sizeof(SeriesId) +
             plan.layout.wanted.capacity() * sizeof(RowLayout::Cell);
    for (const RowLayout::Target& target : plan.layout.targets)
      bytes += target.cells.capacity() * 8;
  }
  return bytes;
}

}  // namespace pitwall::window
