// Asks a collector's socket for a capture: the way of a job's owner, whom the kernel names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

// The id of the request. NotFound: nobody listens there; PermissionDenied: the job is another
// owner's; else why the collector does not ask.
StatusOr<std::string> AskCollector(const std::string& path, const std::string& job,
                                   const std::vector<int64_t>& ranks, int64_t timeout_ns);

}  // namespace pitwall::collector
