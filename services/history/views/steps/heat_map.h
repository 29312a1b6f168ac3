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
  std::vector<double> cells;  // one a column; NaN: nothing there
};

struct HeatMap {
  BucketGrid grid;
  std::vector<HeatMapRow> rows;  // by labels, numbers inside of them by their value
};

StatusOr<HeatMap> MakeHeatMap(const History& history, const BucketQuery& query, HeatValue value);

struct StepHeatMapRow {
  int64_t rank = -1;
  std::string node;
  std::vector<double> cells;  // NaN: the rank has told no step of that column
};

struct StepHeatMap {
  bool own_time = false;  // cells are of the time without the wait in collectives
  int64_t from_step = 0;  // grown to whole columns
  int64_t to_step = 0;
  int64_t bucket_steps = 1;
  std::vector<double> medians;  // seconds; of several steps the median of theirs
  std::vector<StepHeatMapRow> rows;
};

// A cell is duration / median over the ranks of that step; of several steps in one column the
// greatest. Of a step that was run again the later run counts. A column is of a whole number of
// stored blocks, where it is of as many steps. `want_own`: a rank's own time instead of the
// duration, since in a synchronous job all ranks wait for the slow one; where a row does not tell
// its wait, all cells are of durations. ResourceExhausted: more than 33,554,432 steps by ranks that
// are in no summary (step_window.h), or as many blocks by ranks.
StatusOr<StepHeatMap> MakeStepHeatMap(const History& history, const StepQuery& query,
                                      size_t most_columns, bool want_own = false);

}  // namespace pitwall::history
