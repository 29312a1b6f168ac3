// Lookup of a job's control group from the job's processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {

// Returns the innermost group (version 2, as a path relative to /sys/fs/cgroup) that contains all
// processes. Returns "" if only the root contains all of them or the groups cannot be read.
std::string CgroupOf(std::string_view root, const std::vector<JobProcess>& processes);

}  // namespace pitwall::collector
