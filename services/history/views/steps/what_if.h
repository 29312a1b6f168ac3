// Estimated step time without one of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/history/views/steps/step_table.h"

namespace pitwall::history {

struct WhatIf {
  bool computable = false;
  std::string reason;  // why not
  size_t steps = 0;    // that every rank tells
  size_t left_out = 0;
  bool own_time = false;  // durations less the time in collectives
  double with = 0;        // mean over the steps of the greatest over the ranks, in seconds
  double without = 0;     // the same over the other ranks
};

// A rank's own time is taken where every rank tells its wait in every step that counts: in training
// in lock-step all durations are equal, since the others wait for the slow one. Of a step that was
// run again the later run counts.
StatusOr<WhatIf> MakeWhatIf(const History& history, const StepQuery& query, int64_t rank);

}  // namespace pitwall::history
