// Finds the control group of a job by its processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {

// The innermost group (version 2, path below the cgroup file system) that holds all of them; ""
// when there is none but the root, or it cannot be read.
std::string CgroupOf(std::string_view root, const std::vector<JobProcess>& processes);

}  // namespace pitwall::collector
