// Jobs and the things they run on.
#pragma once

#include <cstdint>
#include <string>

namespace pitwall {

// Where a job can be found again by something that wants to act on it. Empty fields are unknown.
struct JobReference {
  std::string platform;  // kubernetes, slurm, process
  std::string cluster;
  std::string namespace_name;
  std::string kind;  // Job, PyTorchJob, …; for platform "process": "pid"
  std::string name;
  // For platform "process": <pid>@<node>/<process start time>, then +<pid>/<start time> for each
  // further process of the job on that node.
  std::string uid;
  std::string queue;
  friend bool operator==(const JobReference&, const JobReference&) = default;
};

}  // namespace pitwall
