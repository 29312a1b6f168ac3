// Client that sends capture requests over a collector's socket. For job owners, whom the kernel
// identifies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

// Returns the ID of the request. Returns NotFound if no collector listens on the path, and
// PermissionDenied if the job belongs to another owner. If the collector refuses the request for
// another reason, returns that reason.
StatusOr<std::string> AskCollector(const std::string& path, const std::string& job,
                                   const std::vector<int64_t>& ranks, int64_t timeout_ns);

}  // namespace pitwall::collector
