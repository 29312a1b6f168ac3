// Owners as an administrator writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

// "alice", "1000" or "uid:1000" -> "uid:1000"; "pod:<uid>" as it is. Nodes agree as far as they
// have the same users. InvalidArgument: no such user, or malformed.
StatusOr<std::string> ParseOwner(std::string_view text);

// A list of them, separated by commas; at most 256.
StatusOr<std::vector<std::string>> ParseOwners(std::string_view text);

// "pitwall" or "998" -> 998. InvalidArgument: no such group.
StatusOr<int64_t> ParseGroup(std::string_view text);

}  // namespace pitwall::collector
