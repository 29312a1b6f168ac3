// Client for capture requests over a collector's socket, for job owners, whom the kernel
// identifies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

// Returns the ID of the request. Returns NotFound if no collector listens on the path,
// PermissionDenied if the job belongs to another owner, and otherwise the collector's reason for
// refusing the request.
StatusOr<std::string> AskCollector(const std::string& path, const std::string& job,
                                   const std::vector<int64_t>& ranks, int64_t timeout_ns);

}  // namespace pitwall::collector
