// Breakdown of a job's time into initialization, training loop, and finalization.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "services/history/job_overview.h"

namespace pitwall::history {

enum class JobPart { kInitialization, kTrainingLoop, kFinalization, kBetweenAttempts };
inline constexpr std::array<std::string_view, 4> kJobPartNames = {
    "initialization", "training_loop", "finalization", "between_attempts"};

// Duration of each JobPart. The parts partition [begin, end).
using PartLengths = std::array<int64_t, kJobPartNames.size()>;

struct AttemptSummary {
  uint64_t attempt = 0;
  int64_t begin_ns = 0;
  int64_t loop_begin_ns = 0;  // 0 if there were no steps
  int64_t loop_end_ns = 0;
  int64_t end_ns = 0;  // time of the newest data while the job is running
  PartLengths parts_ns{};
};

struct JobSummary {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  PartLengths parts_ns{};
  std::vector<AttemptSummary> attempts;
};

// Splits the job's time into parts. Initialization lasts from the start of the attempt or of its
// first step, whichever is earlier, to the start of the first step. The loop lasts until the end of
// the last step, and finalization lasts until the end of the attempt. For a completed job, the
// attempt ends with the last rank's goodbye. An attempt without steps consists of initialization
// only. An attempt that is running or was cut off (died, canceled, stopped, or silent) has no
// finalization.
JobSummary Summarize(const JobOverview& job);

}  // namespace pitwall::history
