// Time spent in each phase during the last steps, both in total and by rank.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/views/steps/step_table.h"

namespace pitwall::history {

struct PhaseTime {
  std::string phase;
  double seconds = 0;
  double share = 0;  // fraction of the listed total; all shares sum to 1
};

struct RankPhases {
  int64_t rank = -1;
  double total = 0;  // seconds of all steps of the rank
  std::map<std::string, double> seconds;
};

struct PhaseTimes {
  int64_t from_step = 0;
  int64_t to_step = 0;
  size_t steps = 0;
  double total = 0;               // seconds of all steps of all ranks
  std::vector<PhaseTime> phases;  // sorted by time, longest first
  std::vector<RankPhases> ranks;
};

// Sums the time of the last steps by phase. Step time outside all reported phases counts as
// "other". All runs of a repeated step are included.
StatusOr<PhaseTimes> MakePhaseTimes(const History& history, const StepQuery& query,
                                    size_t last_steps);

}  // namespace pitwall::history
