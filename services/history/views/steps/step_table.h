// Tables of the ranks' steps, with the time, duration, phases, and wait of each step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/step_times.h"

namespace pitwall::history {

struct StepQuery {
  JobLifePtr job;
  std::string mode = "train";
  TimeRange range;  // range of step end times
  int64_t from_step = 0;
  int64_t to_step = kMaxPosition;
  std::vector<int64_t> ranks;  // if empty, all ranks are selected
  ReadLimits limits;
};

// One run of a step by a rank. Unknown values are NaN.
struct StepRow {
  int64_t step = kNoStep;
  int64_t rank = -1;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  double duration = 0;  // in seconds
  std::span<const double>
      phases;       // in seconds, in the order of StepTable::phases; only set in a StepTable
  double wait = 0;  // in seconds
};

// Move-only, because rows point into `seconds`.
struct StepTable {
  StepTable() = default;
  StepTable(StepTable&&) = default;
  StepTable& operator=(StepTable&&) = default;
  StepTable(const StepTable&) = delete;
  StepTable& operator=(const StepTable&) = delete;

  std::vector<std::string> phases;  // sorted
  std::vector<StepRow> rows;        // by (step, rank, end); a repeated step has several rows
  std::vector<double> seconds;      // backing storage for the phases of rows
};

// Returns the table of steps. The wait is the time in collectives: train_collective_time_seconds
// summed over all groups, using the larger sum of the two clocks, or the phase "collective" if that
// metric is missing.
StatusOr<StepTable> MakeStepTable(const History& history, const StepQuery& query);

// Selects the samples needed for step durations or, if `own` is set, for a rank's own time without
// the wait.
SampleQuery QueryOfStepTimes(const StepQuery& query, bool own);
// Computes the step times by rank from one part of these samples.
Status VisitStepTimes(const std::vector<SampleColumn>& columns, const StepQuery& query, bool own,
                      const std::function<Status(const RankSteps&)>& visit);

// Reads only durations. The rows have no phases.
StatusOr<std::vector<StepRow>> ReadStepDurations(const History& history, const StepQuery& query);

// Range of the last `count` distinct steps below `to_step`, found by searching backward from the
// end. Empty if there are no steps.
struct StepRange {
  int64_t from_step = 0;
  int64_t to_step = 0;
  TimeRange range;  // time range that contains the end times of all these steps
};
StatusOr<StepRange> FindLastSteps(const History& history, const StepQuery& query, size_t count);

// Returns the node of each rank, as reported by its sources.
std::map<int64_t, std::string> NodesOfRanks(const JobOverview& job);

}  // namespace pitwall::history
