// Step tables of the ranks: time, duration, phases, and wait of each step.
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
  TimeRange range;  // range of the steps' ends
  int64_t from_step = 0;
  int64_t to_step = kMaxPosition;
  std::vector<int64_t> ranks;  // empty: all
  ReadLimits limits;
};

// One run of a step by a rank. NaN: unknown.
struct StepRow {
  int64_t step = kNoStep;
  int64_t rank = -1;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  double duration = 0;  // seconds
  std::span<const double>
      phases;       // seconds, in the order of StepTable::phases; only in a StepTable
  double wait = 0;  // seconds
};

// Movable only, since rows point into it.
struct StepTable {
  StepTable() = default;
  StepTable(StepTable&&) = default;
  StepTable& operator=(StepTable&&) = default;
  StepTable(const StepTable&) = delete;
  StepTable& operator=(const StepTable&) = delete;

  std::vector<std::string> phases;  // sorted
  std::vector<StepRow> rows;        // by step, rank, end; a repeated step has several rows
  std::vector<double> seconds;      // backing store of the phases of rows
};

// The wait is the time in collectives: train_collective_time_seconds over all groups, the greater
// sum of two clocks; without it, the phase "collective".
StatusOr<StepTable> MakeStepTable(const History& history, const StepQuery& query);

// Selects the samples needed for step durations or, with `own`, for a rank's own time without the
// wait.
SampleQuery QueryOfStepTimes(const StepQuery& query, bool own);
// Computes the times from such samples of one stretch of time, by rank.
Status VisitStepTimes(const std::vector<SampleColumn>& columns, const StepQuery& query, bool own,
                      const std::function<Status(const RankSteps&)>& visit);

// Reads only durations; rows have no phases.
StatusOr<std::vector<StepRow>> ReadStepDurations(const History& history, const StepQuery& query);

// Range of the last `count` distinct steps below `to_step`, searched from the end backwards; empty
// if there are no steps.
struct StepRange {
  int64_t from_step = 0;
  int64_t to_step = 0;
  TimeRange range;  // contains the ends of all of them
};
StatusOr<StepRange> FindLastSteps(const History& history, const StepQuery& query, size_t count);

// Node of each rank, as reported by its sources.
std::map<int64_t, std::string> NodesOfRanks(const JobOverview& job);

}  // namespace pitwall::history
