#include "services/engine/sources/silent_nodes.h"

#include <algorithm>
#include <map>

namespace pitwall::engine {

std::map<std::string, uint64_t, std::less<>> SilentNodes(const SourceMap& sources,
                                                         const EngineOptions& options) {
  // Avoids building a map in the common case that all nodes send data.
  if (std::none_of(sources.begin(), sources.end(), [&](const auto& entry) {
        return entry.second->process.running &&
               entry.second->silence.idle > entry.second->IdleAfter(options);
      }))
    return {};
  struct Node {
    uint64_t ranks = 0;
    bool collector = false;
    bool active = false;
  };
  std::map<std::string_view, Node> nodes;
  bool others = false;
  for (const auto& [key, source] : sources) {
    others = others || source->live;
    if (source->IsForeign() || source->ended_at != EventTime::Latest() || source->goodbye ||
        source->process.loss_reported)
      continue;
    Node& node = nodes[source->info.node];
    node.collector = node.collector || !source->IsRank();
    node.ranks += source->process.running ? 1 : 0;
    node.active = node.active || source->silence.idle <= source->IdleAfter(options);
  }
  std::map<std::string, uint64_t, std::less<>> silent;
  if (!others) return silent;
  for (const auto& [name, node] : nodes) {
    if (node.ranks > 0 && node.collector && !node.active) silent[std::string(name)] = node.ranks;
  }
  return silent;
}

}  // namespace pitwall::engine
