// Nodes of a job that have stopped sending data before all of their ranks have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "services/engine/program/limits.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// pitwall_node_silent_ranks{node}: number of ranks on a node that has become silent.
inline constexpr std::string_view kNodeSilentRanks = "pitwall_node_silent_ranks";

// Returns the number of running ranks by node, for nodes whose collector and ranks have all been
// idle (time-model.md 2.2) while another node is active. A node is not silent if it has no
// collector of its own, if its collector sent a goodbye, or if one of its sources has a wrong
// clock. Empty if there is no live source to compare with.
std::map<std::string, uint64_t, std::less<>> SilentNodes(const SourceMap& sources,
                                                         const EngineOptions& options);

}  // namespace pitwall::engine
