// Estimate of the step time without a given rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/history/views/steps/step_table.h"

namespace pitwall::history {

struct WhatIf {
  bool computable = false;
  std::string reason;  // reason that the estimate is unavailable
  size_t steps = 0;    // number of steps that every rank reported
  size_t left_out = 0;
  bool own_time = false;  // whether durations exclude the time in collectives
  double with = 0;        // mean of each step's longest time across ranks, in seconds
  double without = 0;     // the same mean without the rank
};

// Estimates the step time without the rank. Uses the ranks' own time if every rank reports its wait
// in every counted step, because in lockstep training, all durations are equal while the other
// ranks wait for the slow rank. If a step was repeated, its later run is used.
StatusOr<WhatIf> MakeWhatIf(const History& history, const StepQuery& query, int64_t rank);

}  // namespace pitwall::history
