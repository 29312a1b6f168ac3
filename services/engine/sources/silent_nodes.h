// Nodes of a job of which nothing is heard any more, though some of their ranks have not ended.
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

// pitwall_node_silent_ranks{node}: how many ranks run on a node that has fallen silent.
inline constexpr std::string_view kNodeSilentRanks = "pitwall_node_silent_ranks";

// Ranks that have not ended, by node, of the nodes whose collector and whose ranks have all been
// idle (time-model.md 2.2) while another node is heard. A node with no collector of its own, with a
// collector that said goodbye or with a source whose clock is wrong is not silent. Without any live
// source nobody is left to compare with: empty.
std::map<std::string, uint64_t, std::less<>> SilentNodes(const SourceMap& sources,
                                                         const EngineOptions& options);

}  // namespace pitwall::engine
