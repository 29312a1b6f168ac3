// Declaration of a job, from configuration or a file in the drop folder.
#pragma once

#include <string>
#include <vector>

#include "services/model/job.h"
#include "services/model/labels.h"

namespace pitwall::collector {

// A job declared by --job, by the environment, or by a drop file. A job from a drop file stays
// bound while the file exists; other declared jobs stay bound until the collector stops.
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
