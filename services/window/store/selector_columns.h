// Columns of each selector in a store. The columns are the matching series in the order in which
// they were added.
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

// Position of a series among the columns of one selector.
struct Membership {
  uint32_t selector;
  uint32_t column;
};

// Not thread-safe. The SeriesTable owns the labels of the member series.
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
  // Returns a number that changes whenever the members change.
  uint64_t generation(uint32_t selector) const { return selectors_[selector].generation; }
  std::span<const Membership> memberships(SeriesId id) const {
    if (id.value() >= memberships_.size()) return {};
    return memberships_[id.value()];
  }

  bool Matches(const Labels& labels) const;
  // Adds a column for the series to every selector that matches it.
  void Join(SeriesId id, const Labels& labels);
  // Removes the series that are marked in `gone` (indexed by ID) from one selector. Returns the
  // previous number of each remaining column. If no column was removed, the result contains every
  // column. Call Leave afterward for the removed series.
  std::vector<uint32_t> Compact(uint32_t selector, const std::vector<bool>& gone);
  void Leave(SeriesId id) {
    if (id.value() < memberships_.size()) memberships_[id.value()].clear();
  }

  // Replaces the selectors. `moved_to` contains the new number of each selector whose members are
  // kept, and UINT32_MAX for the others. New selectors get all matching series of the table that
  // are not dormant. All generations are set to `generation`.
  void Replace(const DemandSet& demands, const std::vector<uint32_t>& moved_to,
               const SeriesTable& series, uint64_t generation);

  void Save(BinaryWriter& out) const;
  // Marks the reader as failed if the data contains series that are not in the table.
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

  const std::vector<Selector>* matchers_ = nullptr;  // indexed by selector
  std::vector<Columns> selectors_;
  std::vector<absl::InlinedVector<Membership, 2>> memberships_;  // indexed by series
  // Selectors that require a specific metric name, by that name.
  StringMap<std::vector<uint32_t>> by_name_;
  std::vector<uint32_t> nameless_;
};

}  // namespace pitwall::window
