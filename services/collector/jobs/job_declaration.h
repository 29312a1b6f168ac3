// Declaration of a job by configuration or by a file of the drop folder.
#pragma once

#include <string>
#include <vector>

#include "services/model/job.h"
#include "services/model/labels.h"

namespace pitwall::collector {

// A job that is declared either by --job or the environment, in which case it is bound until the
// collector stops, or by a drop file.
struct JobDeclaration {
  std::string id;
  std::string name;
  JobReference reference;
  std::vector<Label> labels;
  std::vector<int> gpus;  // GPU indices; empty if unknown
  std::string cgroup;     // path below the cgroup file system; empty if unknown
  // Declared owner, "uid:1000" or "pod:<uid>". If empty, the first client's owner is used.
  std::string owner;
  std::vector<std::string> members;  // additional owners whose processes belong to the job
};

}  // namespace pitwall::collector
