// A client's claim that it belongs to a job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/labels.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Job data in a client's hello.
struct JobClaim {
  std::string job_id;  // may be empty
  std::string job_name;
  int64_t job_start_ns = 0;  // 0 if unknown
  int64_t client_start_ns = 0;
  JobReference reference;
  std::vector<Label> labels;
  int64_t rank = 0;
  int64_t world_size = 0;
  std::string boot_id;
  int64_t pid = 0;    // in this process's PID namespace; 0 if unknown
  int64_t user = -1;  // user ID of the process; -1 if unknown
  std::string owner;  // from the kernel: "uid:1000" or "pod:<uid>"; "" if unknown
  // Parent of the client's process, "<pid>@<start>"; "" if unknown.
  std::string launcher;
};

// Label for the number of times that the client's launcher (torchrun) has restarted the workers.
// Set by the client.
inline constexpr std::string_view kRestartCount = "torchelastic_restart_count";

}  // namespace pitwall::collector
