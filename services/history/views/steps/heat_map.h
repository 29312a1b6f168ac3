// Heat maps of series by time, and of ranks by steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/views/steps/buckets.h"
#include "services/history/views/steps/step_table.h"

namespace pitwall::history {

enum class HeatValue { kMean, kMin, kMax, kLast };

struct HeatMapRow {
  Labels labels;
  std::vector<double> cells;  // one per column; NaN if there is no data
};

struct HeatMap {
  BucketGrid grid;
  std::vector<HeatMapRow> rows;  // sorted by labels in natural order
};

StatusOr<HeatMap> MakeHeatMap(const History& history, const BucketQuery& query, HeatValue value);

struct StepHeatMapRow {
  int64_t rank = -1;
  std::string node;
  std::vector<double> cells;  // NaN if the rank reported no step in that column
};

struct StepHeatMap {
  bool own_time = false;  // whether the times in cells exclude the wait in collectives
  int64_t from_step = 0;  // extended to whole columns
  int64_t to_step = 0;
  int64_t bucket_steps = 1;
  std::vector<double> medians;  // in seconds; for several steps, the median of the steps' medians
  std::vector<StepHeatMapRow> rows;
};

// Returns a map of ranks by steps. A cell is the rank's duration divided by the median over the
// ranks in that step. If a column has several steps, the cell is their maximum. If a step was
// repeated, its later run is used. A column that spans enough steps consists of whole stored
// blocks. `want_own` requests a rank's own time instead of the duration, because in a synchronous
// job all ranks wait for the slow rank. If any row has no wait, all cells use durations. Returns
// ResourceExhausted for more than 33,554,432 steps × ranks without a summary (step_window.h), or
// for more than 33,554,432 blocks × ranks.
StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own = false);

}  // namespace pitwall::history
