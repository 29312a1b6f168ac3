// Log lines for jobs that may still restart after their attempt died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/engine/job/job.h"

namespace pitwall::processor {

// Produces a log line when a job's attempt dies. Then, every 30 s of event time, produces a line
// with the remaining restart grace period. Tracks at most 64 jobs at a time. Not thread-safe.
class GraceWatch {
 public:
  // Returns the lines that are due, such as "job "x": attempt 1 died; over in 97 s unless a rank
  // returns".
  std::vector<std::string> Look(const std::vector<const engine::Job*>& jobs);
  // Returns the number of jobs that are waiting for a restart.
  size_t waiting() const { return waiting_; }

 private:
  std::map<std::string, int64_t, std::less<>>
      next_line_;  // by job ID: remaining seconds at which the next line is due
  size_t waiting_ = 0;
};

}  // namespace pitwall::processor
