// Heat maps: series by time, and ranks by steps.
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
  std::vector<double> cells;  // NaN if the rank reported no step of that column
};

struct StepHeatMap {
  bool own_time = false;  // whether cells use times without the wait in collectives
  int64_t from_step = 0;  // extended to whole columns
  int64_t to_step = 0;
  int64_t bucket_steps = 1;
  std::vector<double> medians;  // in seconds; for several steps, the median of their medians
  std::vector<StepHeatMapRow> rows;
};

// Returns a map of ranks by steps. A cell is the rank's duration divided by the median over the
// ranks of that step; for several steps per column, the maximum. If a step was repeated, the later
// run counts. A column that spans enough steps consists of whole stored blocks. `want_own` requests
// a rank's own time instead of the duration, because in a synchronous job all ranks wait for the
// slow rank. If any row has no wait, all cells use durations. Returns ResourceExhausted for more
// than 33,554,432 cells of steps by ranks without a summary (step_window.h), or as many of blocks
// by ranks.
StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own = false);

}  // namespace pitwall::history
