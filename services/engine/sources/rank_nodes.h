// Nodes of a job's ranks.
#pragma once

#include <string>

#include "services/base/text/strings.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Returns the node of each rank, or "" if there are several candidates. The rank's own process
// takes precedence over a collector's samples about the process, and the newest boot over older
// ones.
StringMap<std::string> NodesOfRanks(const SourceMap& sources);

}  // namespace pitwall::engine
