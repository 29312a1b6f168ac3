// Row layouts: the series of each cell in a row, and the columns to which the cells are written.
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

// Destinations of the cells in a row.
struct RowLayout {
  struct Cell {
    uint32_t cell;
    SeriesId id;
  };
  // Cells that are written to the windows of one selector.
  struct Target {
    uint32_t selector;
    std::vector<uint32_t> cells;
    std::vector<uint32_t> columns;
  };

  uint64_t version = 0;  // layout version at the computation; 0 if never computed
  bool has_dormant = false;
  std::vector<Cell> wanted;
  std::vector<Target> targets;  // in the order of each selector's first cell
};

// Row plans, identified by index. A plan exists while a caller holds it or an open row uses it, and
// equal layouts share a plan. A plan pins its series, so they keep their IDs. Not thread-safe.
class RowPlans {
 public:
  // Returns the plan for these series. It may be shared. Returns InvalidArgument if an ID is
  // unknown. The caller must hold the plan, use it for a row, or call DropIfUnused.
  StatusOr<uint32_t> FindOrAdd(std::vector<SeriesId> ids, const SeriesTable& series);
  bool Has(uint32_t plan) const { return plan < plans_.size() && plans_[plan].live; }
  void Hold(uint32_t plan) { ++plans_[plan].holders; }
  // Releases a plan. Does nothing if the plan has no holder.
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
  // Returns the most recently computed layout.
  const RowLayout& layout(uint32_t plan) const { return plans_[plan].layout; }
  // Computes the layout for the current columns. It includes only cells of selectors that have
  // windows.
  void LayOut(uint32_t plan, uint64_t version, const SeriesTable& series,
              const SelectorColumns& selectors, const WindowSet& windows);
  size_t MemoryBytes() const;

 private:
  struct Plan {
    bool live = false;
    uint32_t holders = 0;
    uint32_t rows = 0;  // number of open rows
    std::vector<SeriesId> ids;
    RowLayout layout;
  };

  void Drop(uint32_t plan);

  std::vector<Plan> plans_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> pins_;  // by series: number of cells in the existing plans
  absl::flat_hash_map<std::vector<SeriesId>, uint32_t> by_ids_;
};

}  // namespace pitwall::window
