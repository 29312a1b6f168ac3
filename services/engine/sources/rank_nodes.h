// Nodes on which the ranks of a job run.
#pragma once

#include <string>

#include "services/base/text/strings.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// By the number of a rank; "" where several nodes are named. A process of the rank counts more than
// what a collector samples of it, and its newest boot most.
StringMap<std::string> NodesOfRanks(const SourceMap& sources);

}  // namespace pitwall::engine
