// State of a SeriesStore. Private to the files of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "services/base/status.h"
#include "services/model/windows/demand.h"
#include "services/window/store/demand_results.h"
#include "services/window/store/demand_table.h"
#include "services/window/store/open_rows.h"
#include "services/window/store/row_plans.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"
#include "services/window/store/store_progress.h"
#include "services/window/store/window_set.h"

namespace pitwall::window {

struct SeriesStore::State {
  State(std::shared_ptr<const DemandSet> set, const Limits& limits);

  const size_t max_open_samples;
  StoreCounters counters;

  SeriesTable series;
  SelectorColumns columns;
  DemandTable demands;
  WindowSet windows;
  RowPlans plans;
  OpenRows open;

  StoreProgress progress;
  DemandResults results;
  uint64_t layout = 1;  // incremented when columns move or memberships change
  // Scratch buffers for SealTo: the rows, and one row's values without stale markers.
  std::vector<OpenRow> taken;
  std::vector<double> without_stale;

  // Implemented in store_series.cc.
  void Join(SeriesId id);
  // Reactivates a dormant series that has a new sample.
  void Wake(SeriesId id);
  void LayOut(uint32_t plan);
  // Returns the series that no read can see anymore. Sets *candidates to the number of these series
  // whose removal frees memory.
  std::vector<SeriesId> Expired(size_t* candidates) const;
  void DropColumns(const std::vector<bool>& gone);

  // Implemented in store_samples.cc.
  Status CheckRow(const RowKey& key, size_t cells) const;
  void ApplyRow(const OpenRow& row);
  void WakeSeries(const RowLayout& row_layout, const double* values);
};

}  // namespace pitwall::window
