// Step times of a rank, computed from its samples. Used for views and for the stored summaries of
// windows.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "services/history/history.h"

namespace pitwall::history {

inline constexpr std::string_view kStepDuration = "train_step_duration_seconds";
inline constexpr std::string_view kPhaseDuration = "train_phase_duration_seconds";
inline constexpr std::string_view kCollectiveTime = "train_collective_time_seconds";
inline constexpr std::string_view kCollective = "collective";  // name of a phase

// Returns the rank of a series, or -1 if it has no rank.
int64_t RankOf(const Labels& labels);

// Steps of one rank, ordered by end time. A repeated step appears multiple times.
struct RankSteps {
  int64_t rank = -1;
  std::span<const int64_t> steps;
  std::span<const double> seconds;  // NaN if unknown
};

// Sample columns of one rank.
using RankColumns = std::vector<const SampleColumn*>;
std::map<int64_t, RankColumns> ColumnsByRank(const std::vector<SampleColumn>& columns);

// Reader for a rank's steps. Works only if at most one of the rank's columns has durations, which
// is almost always true. Not thread-safe.
class StepTimes {
 public:
  // Reads the steps of a rank. If `own` is set, the times exclude the wait. The wait is the total
  // time in collectives across all groups: the larger of the sums for the two clocks, or the phase
  // "collective" if the clocks have no data. Returns false if two series have durations; the caller
  // must then join the rows. If there are no steps, returns true and steps() is empty.
  bool Read(const RankColumns& columns, bool own);
  // Returns the step runs with a known duration. Valid until the next Read.
  RankSteps steps(int64_t rank) const { return {rank, steps_, seconds_}; }

 private:
  struct ClockSums {
    std::string_view clock;
    std::vector<double> sums;
  };
  std::vector<int64_t> steps_;
  std::vector<double> seconds_;
  std::vector<double> waits_;
  std::vector<ClockSums> clocks_;
};

// Returns the median and reorders the values. Requires at least one value.
double MedianIn(std::vector<double>* values);

}  // namespace pitwall::history
