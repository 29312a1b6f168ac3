// Client that sends capture requests over a collector's socket, for use by job owners. The kernel
// identifies the owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

// Returns the request ID. Returns NotFound if no collector listens on the path, and
// PermissionDenied if the job belongs to another owner. For any other refusal, returns the
// collector's reason.
StatusOr<std::string> AskCollector(const std::string& path, const std::string& job,
                                   const std::vector<int64_t>& ranks, int64_t timeout_ns);

}  // namespace pitwall::collector
