#include "services/window/store/selector_columns.h"

#include <string_view>
#include <utility>

namespace pitwall::window {

SelectorColumns::SelectorColumns(const DemandSet& demands) : selectors_(demands.selectors.size()) {
  Index(demands);
}

void SelectorColumns::Index(const DemandSet& demands) {
  matchers_ = &demands.selectors;
  by_name_.clear();
  nameless_.clear();
  for (uint32_t s = 0; s < demands.selectors.size(); ++s) {
    const std::string_view name = demands.selectors[s].MetricName();
    if (name.empty()) {
      nameless_.push_back(s);
    } else {
      by_name_[std::string(name)].push_back(s);
    }
  }
}

std::vector<uint32_t> SelectorColumns::Matching(const Labels& labels) const {
  std::vector<uint32_t> matching;
  const auto try_all = [&](const std::vector<uint32_t>& candidates) {
    for (const uint32_t s : candidates) {
      if ((*matchers_)[s].Matches(labels)) matching.push_back(s);
    }
  };
  if (const auto it = by_name_.find(labels.Name()); it != by_name_.end()) try_all(it->second);
  try_all(nameless_);
  return matching;
}

bool SelectorColumns::Matches(const Labels& labels) const { return !Matching(labels).empty(); }

void SelectorColumns::Add(uint32_t selector, SeriesId id, const Labels& labels) {
  Columns& columns = selectors_[selector];
  if (memberships_.size() <= id.value()) memberships_.resize(id.value() + 1);
  memberships_[id.value()].push_back({selector, static_cast<uint32_t>(columns.members.size())});
  columns.members.push_back(id);
  columns.labels.push_back(&labels);
}

void SelectorColumns::Join(SeriesId id, const Labels& labels) {
  for (const uint32_t s : Matching(labels)) {
    Add(s, id, labels);
    ++selectors_[s].generation;
  }
}

std::vector<uint32_t> SelectorColumns::Compact(uint32_t selector, const std::vector<bool>& gone) {
  Columns& columns = selectors_[selector];
  std::vector<uint32_t> keep;
  keep.reserve(columns.members.size());
  for (uint32_t column = 0; column < columns.members.size(); ++column) {
    if (!gone[columns.members[column].value()]) keep.push_back(column);
  }
  if (keep.size() == columns.members.size()) return keep;
  for (size_t i = 0; i < keep.size(); ++i) {
    const SeriesId id = columns.members[keep[i]];
    columns.members[i] = id;
    columns.labels[i] = columns.labels[keep[i]];
    for (Membership& membership : memberships_[id.value()]) {
      if (membership.selector == selector) membership.column = static_cast<uint32_t>(i);
    }
  }
  columns.members.resize(keep.size());
  columns.labels.resize(keep.size());
  ++columns.generation;
  return keep;
}

void SelectorColumns::Replace(const DemandSet& demands, const std::vector<uint32_t>& moved_to,
                              const SeriesTable& series, uint64_t generation) {
  std::vector<Columns> before =
      std::exchange(selectors_, std::vector<Columns>(demands.selectors.size()));
  std::vector<bool> kept(selectors_.size(), false);
  for (size_t s = 0; s < before.size(); ++s) {
    if (moved_to[s] == UINT32_MAX) continue;
    kept[moved_to[s]] = true;
    selectors_[moved_to[s]] = std::move(before[s]);
  }
  Index(demands);
  for (auto& memberships : memberships_) memberships.clear();
  for (uint32_t s = 0; s < selectors_.size(); ++s) {
    const Columns old = std::exchange(selectors_[s], Columns());
    for (size_t column = 0; column < old.members.size(); ++column)
      Add(s, old.members[column], *old.labels[column]);
    for (uint32_t id = 0; !kept[s] && id < series.size(); ++id) {
      const SeriesId one(id);
      if (!series.Known(one) || series.dormant(one)) continue;
      if ((*matchers_)[s].Matches(series.labels(one))) Add(s, one, series.labels(one));
    }
    // Selector numbers may now refer to other selectors, so everything bound to a number must be
    // rebound.
    selectors_[s].generation = generation;
  }
}

void SelectorColumns::Save(BinaryWriter& out) const {
  for (const Columns& columns : selectors_) {
    std::vector<uint32_t> members;
    for (const SeriesId id : columns.members) members.push_back(id.value());
    out.U32s(members);
  }
}

void SelectorColumns::Load(BinaryReader& in, const SeriesTable& series) {
  for (uint32_t s = 0; s < selectors_.size(); ++s) {
    for (const uint32_t number : in.U32s()) {
      const SeriesId id(number);
      const std::span<const Membership> known = memberships(id);
      if (!series.Known(id) || (!known.empty() && known.back().selector == s)) {
        in.Fail();
        break;
      }
      Add(s, id, series.labels(id));
    }
  }
}

size_t SelectorColumns::MemoryBytes() const {
  size_t bytes = memberships_.capacity() * sizeof(absl::InlinedVector<Membership, 2>);
  for (const Columns& columns : selectors_)
    bytes += columns.members.capacity() * (sizeof(SeriesId) + sizeof(const Labels*));
  return bytes;
}

}  // namespace pitwall::window
