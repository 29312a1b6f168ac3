// Parsing of owner and group names in configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

// Parses "alice", "1000", or "uid:1000" as "uid:1000". Returns "pod:<uid>" unchanged. User names
// must map to the same IDs on all nodes. Returns InvalidArgument for unknown users and malformed
// names.
StatusOr<std::string> ParseOwner(std::string_view text);

// Parses a comma-separated list of at most 256 owners.
StatusOr<std::vector<std::string>> ParseOwners(std::string_view text);

// Parses "pitwall" or "998" as 998. Returns InvalidArgument for unknown groups.
StatusOr<int64_t> ParseGroup(std::string_view text);

}  // namespace pitwall::collector
