// Log lines about a job that waits for a restart after its attempt died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/engine/job/job.h"

namespace pitwall::processor {

// One line per job at the death, and then every 30 s of its time, with the remaining restart grace.
// Covers at most 64 jobs at once. Not thread-safe.
class GraceWatch {
 public:
  // Returns lines such as "job "x": attempt 1 died; over in 97 s unless a rank returns".
  std::vector<std::string> Look(const std::vector<const engine::Job*>& jobs);
  // Returns the number of waiting jobs.
  size_t waiting() const { return waiting_; }

 private:
  std::map<std::string, int64_t, std::less<>>
      next_line_;  // by job: remaining seconds at its next line
  size_t waiting_ = 0;
};

}  // namespace pitwall::processor
