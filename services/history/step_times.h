// Step times of a rank, computed from its samples: for the views, and for the stored summary of a
// window.
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
inline constexpr std::string_view kCollective = "collective";  // name of the phase

// Rank of a series; -1: none.
int64_t RankOf(const Labels& labels);

// Steps of one rank, in the order of their ends. A repeated step occurs several times.
struct RankSteps {
  int64_t rank = -1;
  std::span<const int64_t> steps;
  std::span<const double> seconds;  // NaN: unknown
};

// Columns of one rank.
using RankColumns = std::vector<const SampleColumn*>;
std::map<int64_t, RankColumns> ColumnsByRank(const std::vector<SampleColumn>& columns);

// Computes steps from the columns of a rank if exactly one column has durations, which is nearly
// always so. Not thread-safe.
class StepTimes {
 public:
  // `own`: own time without the wait. The wait is the time in collectives over all groups, the
  // greater sum of two clocks; without it, the phase "collective". False: two series have
  // durations, so rows must be joined. Without steps: true, and steps() is empty.
  bool Read(const RankColumns& columns, bool own);
  // Runs with a known duration, until the next Read.
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

// Requires at least one value; reorders them.
double MedianIn(std::vector<double>* values);

}  // namespace pitwall::history
