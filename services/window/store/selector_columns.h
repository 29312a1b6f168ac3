// The columns of each selector of a store: the series that match it, in the order in which they
// joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/model/labels.h"
#include "services/model/windows/demand.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"

namespace pitwall::window {

// A series' place in a selector.
struct Membership {
  uint32_t selector;
  uint32_t column;
};

// Not thread-safe. The labels of the members belong to the table.
class SelectorColumns {
 public:
  explicit SelectorColumns(const DemandSet& demands);

  uint32_t size() const { return static_cast<uint32_t>(selectors_.size()); }
  const std::vector<SeriesId>& members(uint32_t selector) const {
    return selectors_[selector].members;
  }
  const std::vector<const Labels*>& labels(uint32_t selector) const {
    return selectors_[selector].labels;
  }
  // Changes with the members.
  uint64_t generation(uint32_t selector) const { return selectors_[selector].generation; }
  std::span<const Membership> memberships(SeriesId id) const {
    if (id.value() >= memberships_.size()) return {};
    return memberships_[id.value()];
  }

  bool Matches(const Labels& labels) const;
  // Gives the series a column in every selector that matches it.
  void Join(SeriesId id, const Labels& labels);
  // Takes these series, by id, out of one selector. Returns, for each column that stays, the
  // number that it had; all of them if none goes. Leave next for the series themselves.
  std::vector<uint32_t> Compact(uint32_t selector, const std::vector<bool>& gone);
  void Leave(SeriesId id) {
    if (id.value() < memberships_.size()) memberships_[id.value()].clear();
  }

  // Other selectors. `moved_to`: the new number of each selector whose members stay, else
  // UINT32_MAX. Others get all series of the table that match and are not dormant. Generations
  // become `generation`.
  void Replace(const DemandSet& demands, const std::vector<uint32_t>& moved_to,
               const SeriesTable& series, uint64_t generation);

  void Save(BinaryWriter& out) const;
  // Fails the reader for series that the table does not know.
  void Load(BinaryReader& in, const SeriesTable& series);
  size_t MemoryBytes() const;

 private:
  struct Columns {
    std::vector<SeriesId> members;
    std::vector<const Labels*> labels;
    uint64_t generation = 1;
  };

  void Index(const DemandSet& demands);
  std::vector<uint32_t> Matching(const Labels& labels) const;
  void Add(uint32_t selector, SeriesId id, const Labels& labels);

  const std::vector<Selector>* matchers_ = nullptr;  // by selector
  std::vector<Columns> selectors_;
  std::vector<absl::InlinedVector<Membership, 2>> memberships_;  // by series
  StringMap<std::vector<uint32_t>> by_name_;  // selectors whose matchers fix the metric name
  std::vector<uint32_t> nameless_;
};

}  // namespace pitwall::window
