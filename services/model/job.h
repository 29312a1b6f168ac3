// Jobs and their platforms.
#pragma once

#include <cstdint>
#include <string>

namespace pitwall {

// Reference by which actions find a job on its platform. Empty fields are unknown.
struct JobReference {
  std::string platform;  // kubernetes, slurm, process
  std::string cluster;
  std::string namespace_name;
  std::string kind;  // Job, PyTorchJob, …; for platform "process": "pid"
  std::string name;
  // For platform "process": <pid>@<node>/<process start time>, followed by +<pid>/<start time> for
  // each additional process of the job on that node.
  std::string uid;
  std::string queue;
  friend bool operator==(const JobReference&, const JobReference&) = default;
};

}  // namespace pitwall
