// Nodes on which the ranks of a job run.
#pragma once

#include <string>

#include "services/base/text/strings.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Returns the nodes by rank number; "" if there are several candidates. A process of the rank takes
// precedence over the collector's samples of it, and its newest boot over older ones.
StringMap<std::string> NodesOfRanks(const SourceMap& sources);

}  // namespace pitwall::engine
