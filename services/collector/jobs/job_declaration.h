// A job that is bound by configuration, or by a file of the drop folder.
#pragma once

#include <string>
#include <vector>

#include "services/model/job.h"
#include "services/model/labels.h"

namespace pitwall::collector {

// A job that is bound from the start (--job, environment), until the collector stops.
struct JobDeclaration {
  std::string id;
  std::string name;
  JobReference reference;
  std::vector<Label> labels;
  std::vector<int> gpus;  // indices; empty: not known
  std::string cgroup;     // path below the cgroup file system; empty: not known
  // Declared owner, "uid:1000" or "pod:<uid>"; empty: that of the first client.
  std::string owner;
  std::vector<std::string> members;  // further owners whose processes are of the job
};

}  // namespace pitwall::collector
