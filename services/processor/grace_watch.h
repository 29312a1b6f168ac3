// Log lines for jobs that wait for a restart after their attempt died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/engine/job/job.h"

namespace pitwall::processor {

// Produces one log line per job when its attempt dies, and another one every 30 s of event time
// with the remaining restart grace. Covers at most 64 jobs at the same time. Not thread-safe.
class GraceWatch {
 public:
  // Returns the lines that are due, such as "job "x": attempt 1 died; over in 97 s unless a rank
  // returns".
  std::vector<std::string> Look(const std::vector<const engine::Job*>& jobs);
  // Returns the number of jobs that wait for a restart.
  size_t waiting() const { return waiting_; }

 private:
  std::map<std::string, int64_t, std::less<>>
      next_line_;  // remaining seconds at the job's next line, by job ID
  size_t waiting_ = 0;
};

}  // namespace pitwall::processor
