// The layouts of rows: which series a row's cells belong to, and where each cell goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"
#include "services/window/store/window_set.h"

namespace pitwall::window {

// Where the cells of a row go.
struct RowLayout {
  struct Cell {
    uint32_t cell;
    SeriesId id;
  };
  // Cells of one selector with windows.
  struct Target {
    uint32_t selector;
    std::vector<uint32_t> cells;
    std::vector<uint32_t> columns;
  };

  uint64_t version = 0;  // of the columns that it was made of; 0: not made
  bool has_dormant = false;
  std::vector<Cell> wanted;
  std::vector<Target> targets;  // in order of their first cell
};

// Not thread-safe. A plan lives as long as a caller holds it or an open row uses it; equal layouts
// share one. It pins its series: they keep their ids. Plans are known by their index.
class RowPlans {
 public:
  // The plan of these series, new or shared. InvalidArgument for an unknown id. Hold it or use it
  // for a row, or DropIfUnused.
  StatusOr<uint32_t> FindOrAdd(std::vector<SeriesId> ids, const SeriesTable& series);
  bool Has(uint32_t plan) const { return plan < plans_.size() && plans_[plan].live; }
  void Hold(uint32_t plan) { ++plans_[plan].holders; }
  // An index that nobody holds changes nothing.
  void Release(uint32_t plan);
  void AddRow(uint32_t plan) { ++plans_[plan].rows; }
  void RemoveRow(uint32_t plan) {
    --plans_[plan].rows;
    DropIfUnused(plan);
  }
  void DropIfUnused(uint32_t plan) {
    const Plan& p = plans_[plan];
    if (p.live && p.holders == 0 && p.rows == 0) Drop(plan);
  }
  bool Pins(SeriesId id) const { return id.value() < pins_.size() && pins_[id.value()] > 0; }

  const std::vector<SeriesId>& ids(uint32_t plan) const { return plans_[plan].ids; }
  // The layout as it was last made.
  const RowLayout& layout(uint32_t plan) const { return plans_[plan].layout; }
  // Makes the layout for the columns as they are, with the cells of selectors that have windows.
  void LayOut(uint32_t plan, uint64_t version, const SeriesTable& series,
              const SelectorColumns& selectors, const WindowSet& windows);
  size_t MemoryBytes() const;

 private:
  struct Plan {
    bool live = false;
    uint32_t holders = 0;
    uint32_t rows = 0;  // open ones
    std::vector<SeriesId> ids;
    RowLayout layout;
  };

  void Drop(uint32_t plan);

  std::vector<Plan> plans_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> pins_;  // by series: cells of live plans
  absl::flat_hash_map<std::vector<SeriesId>, uint32_t> by_ids_;
};

}  // namespace pitwall::window
