// Declaration of a job by configuration or by a file of the drop folder.
#pragma once

#include <string>
#include <vector>

#include "services/model/job.h"
#include "services/model/labels.h"

namespace pitwall::collector {

// A job declared by --job or the environment, which is bound until the collector stops, or by a
// drop file.
struct JobDeclaration {
  std::string id;
  std::string name;
  JobReference reference;
  std::vector<Label> labels;
  std::vector<int> gpus;  // indices; empty: unknown
  std::string cgroup;     // path below the cgroup file system; empty: unknown
  // Declared owner, "uid:1000" or "pod:<uid>"; empty: the first client's owner.
  std::string owner;
  std::vector<std::string> members;  // additional owners whose processes belong to the job
};

}  // namespace pitwall::collector
