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
  std::vector<double> cells;  // one per column; NaN: no data
};

struct HeatMap {
  BucketGrid grid;
  std::vector<HeatMapRow> rows;  // by labels in natural order
};

StatusOr<HeatMap> MakeHeatMap(const History& history, const BucketQuery& query, HeatValue value);

struct StepHeatMapRow {
  int64_t rank = -1;
  std::string node;
  std::vector<double> cells;  // NaN: the rank reported no step of that column
};

struct StepHeatMap {
  bool own_time = false;  // cells are times without the wait in collectives
  int64_t from_step = 0;  // extended to whole columns
  int64_t to_step = 0;
  int64_t bucket_steps = 1;
  std::vector<double> medians;  // seconds; for several steps, the median of their medians
  std::vector<StepHeatMapRow> rows;
};

// A cell is duration / median over the ranks of that step; for several steps per column, the
// maximum. Of a repeated step, the later run counts. A column that spans enough steps consists of
// whole stored blocks. `want_own`: a rank's own time instead of the duration, since in a
// synchronous job all ranks wait for the slow one; if a row has no wait, all cells use durations.
// ResourceExhausted: more than 33,554,432 steps by ranks without a summary (step_window.h), or as
// many blocks by ranks.
StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own = false);

}  // namespace pitwall::history
