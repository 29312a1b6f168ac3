// Steps of the ranks as tables: when each ran, how long, in which phases, and how long it waited.
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
  TimeRange range;  // of the steps' ends
  int64_t from_step = 0;
  int64_t to_step = kMaxPosition;
  std::vector<int64_t> ranks;  // empty: all
  ReadLimits limits;
};

// One run of a step by a rank. NaN: not told.
struct StepRow {
  int64_t step = kNoStep;
  int64_t rank = -1;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  double duration = 0;             // seconds
  std::span<const double> phases;  // seconds, in the order of StepTable::phases, of a table alone
  double wait = 0;                 // seconds
};

// Rows point into it: moved, never copied.
struct StepTable {
  StepTable() = default;
  StepTable(StepTable&&) = default;
  StepTable& operator=(StepTable&&) = default;
  StepTable(const StepTable&) = delete;
  StepTable& operator=(const StepTable&) = delete;

  std::vector<std::string> phases;  // sorted
  std::vector<StepRow> rows;        // by step, rank, end; a step that was run again has several
  std::vector<double> seconds;      // what phases of rows point to
};

// The wait is the time in collectives: train_collective_time_seconds over all groups, of two clocks
// the greater sum; where it is not told, the phase "collective".
StatusOr<StepTable> MakeStepTable(const History& history, const StepQuery& query);

// The samples that tell how long steps took, or with `own` what of it was a rank's own time,
// without the wait.
SampleQuery QueryOfStepTimes(const StepQuery& query, bool own);
// The same out of such samples of one stretch of time, by rank.
Status VisitStepTimes(const std::vector<SampleColumn>& columns, const StepQuery& query, bool own,
                      const std::function<Status(const RankSteps&)>& visit);

// Durations alone, rows without phases.
StatusOr<std::vector<StepRow>> ReadStepDurations(const History& history, const StepQuery& query);

// The range of the last `count` different steps below `to_step`, found from the end backwards; an
// empty one where there is no step.
struct StepRange {
  int64_t from_step = 0;
  int64_t to_step = 0;
  TimeRange range;  // holds the ends of all of them
};
StatusOr<StepRange> FindLastSteps(const History& history, const StepQuery& query, size_t count);

// Node of each rank, as its sources tell it.
std::map<int64_t, std::string> NodesOfRanks(const JobOverview& job);

}  // namespace pitwall::history
