// Step times of a rank, from its samples: for the views, and for the stored summary of a window.
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
inline constexpr std::string_view kCollective = "collective";  // the phase

// Of a series; -1: none.
int64_t RankOf(const Labels& labels);

// Steps of one rank, in the order of their ends. Of a step that was run again there are several.
struct RankSteps {
  int64_t rank = -1;
  std::span<const int64_t> steps;
  std::span<const double> seconds;  // NaN: not told
};

// Columns of one rank.
using RankColumns = std::vector<const SampleColumn*>;
std::map<int64_t, RankColumns> ColumnsByRank(const std::vector<SampleColumn>& columns);

// Steps out of the columns of a rank of which one alone tells durations: nearly all are so. Not
// thread-safe.
class StepTimes {
 public:
  // Own time where `own`, without the wait: the time in collectives, over all groups, of two clocks
  // the greater sum; where it is not told, the phase "collective". False: two series tell
  // durations, so that rows have to be joined. Without steps: true, and steps() has none.
  bool Read(const RankColumns& columns, bool own);
  // Of runs whose duration is told, until the next Read.
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

// Of at least one; puts them in another order.
double MedianIn(std::vector<double>* values);

}  // namespace pitwall::history
